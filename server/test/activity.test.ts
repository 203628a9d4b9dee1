import type { Activity, MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import { eventually } from '../../e2e/harness/polling.ts'
import { openDatabase } from '../src/db/database.ts'
import { sweepActivity } from '../src/domain/activity/activity.ts'
import { ActivityRecorder } from '../src/domain/activity/recorder.ts'
import { firstIdAt } from '../src/ids.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })

/** The log, oldest first, once it has so many entries. */
async function logOf(id: MachineId, count: number): Promise<Activity[]> {
  return eventually(`${count} entries`, async () => {
    const { body } = await server.call('GET', `/v1/machines/${id}/activity?limit=100`)
    return body.data.length >= count ? body.data.toReversed() : undefined
  })
}

function summaries(log: readonly Activity[]) {
  return log.map(({ type, data }) => [type, data])
}

test('input, commands, files, previews and secrets are told, and typed text by its length alone', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  const call = (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
    server.call(method, `/v1/machines/${id}/${path}`, body, { 'x-session-id': sessionId })
  await call('POST', 'mouse/click', { at: { x: 3, y: 4 }, button: 'right' })
  await call('POST', 'keyboard/type', { text: 'pässword😀' })
  await call('POST', 'keyboard/key', { key: 's' })
  await call('POST', 'keyboard/key', { key: 'Return' })
  await call('POST', 'keyboard/hotkey', { keys: ['ctrl', 's'] })
  await call('POST', 'keyboard/hotkey', { keys: ['shift', 's'] })
  await call('PUT', 'clipboard', { text: 'hidden' })
  await call('POST', 'exec', { command: ['echo', 'hello'] })
  await call('PUT', 'files/content', { path: '/home/agent/a', content: 'hidden' })
  await call('POST', 'ports', { port: 3000 })
  await call('PUT', 'secrets', { name: 'TOKEN', value: 'hidden' })
  const log = await logOf(id, 11)
  assert.deepEqual(summaries(log), [
    ['mouse.clicked', { at: { x: 3, y: 4 }, button: 'right', count: 1 }],
    ['keyboard.typed', { characters: 9 }],
    ['keyboard.pressed', { keys: '(character)' }],
    ['keyboard.pressed', { keys: 'Return' }],
    ['keyboard.pressed', { keys: 'ctrl+s' }],
    ['keyboard.pressed', { keys: 'shift+(character)' }],
    ['clipboard.written', { characters: 6 }],
    ['command.run', { command: 'echo hello', user: 'agent' }],
    ['file.written', { path: '/home/agent/a' }],
    ['port.published', { port: 3000, access: 'private' }],
    ['secret.stored', { name: 'TOKEN' }],
  ])
  assert.doesNotMatch(JSON.stringify(log), /hidden|ssword/)
  for (const entry of log) {
    assert.deepEqual([entry.actor?.type, entry.actor?.name], ['api_key', 'Owner key'])
    assert.equal(entry.machine_id, id)
  }
  assert.equal(log[0]!.session_id, sessionId)
})

test('a refused call leaves nothing, and one whose outcome is unknown says so', async () => {
  const { id } = await server.machine()
  assert.equal(
    (await server.call('POST', `/v1/machines/${id}/mouse/move`, { x: 1, y: 1 })).status,
    409,
  )
  await server.lease(id)
  const outside = { x: 5_000, y: 1 }
  assert.equal((await server.call('POST', `/v1/machines/${id}/mouse/move`, outside)).status, 400)
  const url = new URL(`/v1/machines/${id}/exec`, await server.listen())
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ command: ['sleep', '5'] })
  const signal = AbortSignal.timeout(500)
  await assert.rejects(fetch(url, { method: 'POST', headers, body, signal }))
  const [entry, ...rest] = await logOf(id, 1)
  assert.deepEqual(entry?.data, { command: 'sleep 5', user: 'agent', outcome: 'unknown' })
  assert.deepEqual(rest, [])
})

test('the log is paged, filtered by types, and seen by members alone', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  for (let x = 0; x < 3; x++)
    await server.call('POST', `/v1/machines/${id}/mouse/move`, { x, y: 0 })
  await server.call('POST', `/v1/machines/${id}/exec`, { command: ['true'] })
  await logOf(id, 4)
  const path = `/v1/machines/${id}/activity`
  const { body: first } = await server.call('GET', `${path}?type=mouse.moved&limit=2`)
  assert.deepEqual(
    [first.data.map(({ data }: Activity) => data['x']), first.has_more],
    [[2, 1], true],
  )
  const next = `${path}?type=mouse.moved&cursor=${encodeURIComponent(first.next_cursor)}`
  assert.equal((await server.call('GET', next)).body.data.length, 1)
  const both = await server.call('GET', `${path}?type=mouse.moved&type=command.run`)
  assert.equal(both.body.data.length, 4)
  assert.equal((await server.call('GET', `${path}?type=nothing`)).body.data.length, 0)
  assert.equal((await server.call('GET', `${path}?type=%00`)).status, 400)
  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.equal((await stranger('GET', path)).status, 404)
})

test('the channel carries each entry once, in order, from any cursor', async (t) => {
  const gateway = await startTestGateway(t, server.app)
  const { id } = await server.machine()
  await server.lease(id)
  const bearer = { headers: { authorization: `Bearer ${server.key}` } }
  const path = `/v1/machines/${id}/activity`
  const move = (x: number) => server.call('POST', `/v1/machines/${id}/mouse/move`, { x, y: 0 })
  const isTold = (x: number) => (client: { controls: Record<string, unknown>[] }) =>
    client.controls.find(({ data }) => (data as { x?: number } | undefined)?.x === x)
  const first = await gateway.connect(path, bearer)
  const start = await first.until((client) => client.firstTick)
  assert.equal(typeof start['cursor'], 'string')
  for (const x of [1, 2]) await move(x)
  const one = await first.until(isTold(1))
  await first.until(isTold(2))
  const after = encodeURIComponent(String(one['cursor']))
  const resumed = await gateway.connect(`${path}?after=${after}`, bearer)
  await move(3)
  await resumed.until(isTold(3))
  const told = resumed.controls.flatMap(({ data }) => (data ? [(data as { x: number }).x] : []))
  assert.deepEqual(told, [2, 3])
  const { body } = await server.call('GET', path)
  const { cursor: _, ...entry } = one
  assert.deepEqual(body.data.at(-1), entry)
})

test('entries are forgotten after 30 days', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  for (const x of [1, 2]) await server.call('POST', `/v1/machines/${id}/mouse/move`, { x, y: 0 })
  const [old] = await logOf(id, 2)
  await server.app.db
    .updateTable('activity')
    .set({ id: firstIdAt('act', Date.now() - 30 * 86_400_000 - 60_000) })
    .where('id', '=', old!.id)
    .execute()
  await sweepActivity(server.app.db)
  assert.deepEqual(summaries(await logOf(id, 1)), [['mouse.moved', { x: 2, y: 0 }]])
})

test('a recorder that is disposed of gives up what it cannot write, so that its process ends', async () => {
  const { id } = await server.machine()
  const { organizationId } = await server.user('member')
  const said: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => said.push(JSON.parse(line).msg) })
  const { changes } = server.app
  const db = openDatabase('postgres://nobody@127.0.0.1:1/none', { log, maxConnections: 1 })
  const recorder = new ActivityRecorder({ db, changes, log })
  recorder.record({ organizationId, machineId: id, type: 'mouse.moved', actor: null, data: {} })
  await recorder[Symbol.asyncDispose]()
  assert.deepEqual(said, ['could not write activity; the process ends'])
})
