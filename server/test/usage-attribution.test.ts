import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { setLabelKeys } from '../src/domain/billing/labels.ts'
import { addEgress, compactEgress } from '../src/domain/previews/egress.ts'
import { onDisksOf } from './disks.ts'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app
const disks = onDisksOf(server)
const { body: me } = await server.call('GET', '/v1/auth/me')

test('compute counts for the caller that starts, a disk for the creator, a capture for its caller', async () => {
  const other = await server.apiKey()
  const { id } = await server.machine()
  const snapshot = await other.call('POST', '/v1/snapshots', { machine_id: id })
  await disks.snapshotIn(snapshot.body.id, 'ready')
  await disks.move(id, 'stop')
  await disks.settledCaptures()
  await other.call('POST', `/v1/machines/${id}/start?wait=20`)
  await disks.move(id, 'restart')

  const first = me.api_key.id
  const rows = await intervalsOf(id)
  assert.deepEqual(rows.filter(({ meter }) => meter !== 'cold_storage').map(show), [
    `compute api_key ${first} ended`,
    `hot_storage api_key ${first} open`,
    `compute api_key ${other.id} ended`,
    // The restart by the first key does not take the machine over.
    `compute api_key ${other.id} open`,
  ])
  const captures = rows.filter(({ meter }) => meter === 'cold_storage').map(show)
  assert.ok(captures.includes(`cold_storage api_key ${other.id} open`), captures.join())
  assert.ok(captures.includes(`cold_storage api_key ${first} open`), 'the automatic one')
  await checkMeters(db)
})

test('a label is the value of a key that the organization chose; a change ends one interval and begins another', async () => {
  const before = await server.machine({ metadata: { team: 'red', other: 'x' } })
  const empty = await server.machine()
  await setKeys(['team', 'task'])
  const labeled = await server.machine({ metadata: { team: 'blue', task: '1', other: 'y' } })
  await eventually(async () => (await labelsOf(before.id)).includes('{"team":"red"}') || undefined)

  // Both intervals that were open went on under the label, at one time.
  assert.deepEqual(await labelsOf(before.id), ['{}', '{}', '{"team":"red"}', '{"team":"red"}'])
  const [, , compute, disk] = await intervalsOf(before.id)
  assert.deepEqual(compute!.started_at, disk!.started_at)
  assert.deepEqual(await labelsOf(labeled.id), Array(2).fill('{"task":"1","team":"blue"}'))
  assert.deepEqual(await labelsOf(empty.id), ['{}', '{}'])

  const path = `/v1/machines/${labeled.id}`
  await server.call('PATCH', path, { metadata: { team: 'blue', task: '1', other: 'z' } })
  assert.equal((await labelsOf(labeled.id)).length, 2, 'a change of another key is none')
  await server.call('PATCH', path, { metadata: { task: '2' } })
  assert.deepEqual((await labelsOf(labeled.id)).slice(2), Array(2).fill('{"task":"2"}'))

  // The meters count only its disk while it is stopped.
  await disks.move(labeled.id, 'stop')
  await server.call('PATCH', path, { size: 'standard', metadata: { task: '3' } })
  assert.deepEqual((await labelsOf(labeled.id)).slice(4), ['{"task":"3"}'])
  await disks.settledCaptures()
  await checkMeters(db)
})

test('keys that change twice in a moment leave every machine with the labels of the last', async () => {
  const { id } = await server.machine({ metadata: { a: '1', b: '2' } })
  await setKeys(['a'])
  await setKeys(['b'])
  await eventually(async () => (await labelsOf(id)).at(-1) === '{"b":"2"}' || undefined)
  await checkMeters(db)
})

test('metadata that is stored while the keys change has the labels of the new keys in the end', async () => {
  await setKeys([])
  await eventually(async () => (await countLabeled()) === 0 || undefined)
  const { id } = await server.machine()
  const key = await server.apiKey()
  const actor = await server.user('owner')
  await server.stopWorkers()
  // The change has read the old keys, and waits to store its event, when the new ones are stored.
  await collide(
    db,
    (tx) => sql`lock table machine_events in share mode`.execute(tx),
    [() => key.call('PATCH', `/v1/machines/${id}`, { metadata: { late: 'yes' } })],
    () => setLabelKeys(server.app, actor, ['late']),
  )
  assert.equal((await labelsOf(id)).at(-1), '{}')
  server.startWorker()
  await eventually(async () => (await labelsOf(id)).at(-1) === '{"late":"yes"}' || undefined)
  await checkMeters(db)
})

test('bytes count for whoever set the machine running, under its labels, and stay so when hours are summed', async () => {
  await setKeys(['team'])
  const { organizationId } = await server.user('owner')
  const machine = await server.machine({ metadata: { team: 'net' } })
  const id = machine.id as MachineId
  const count = async (flush: string, bytes: number) =>
    addEgress(db, flush, [{ machineId: id, organizationId, bytes }])
  await count('1-a', 5)
  await server.call('PATCH', `/v1/machines/${id}`, { metadata: { team: 'web' } })
  await count('1-b', 7)
  await count('1-b', 7)
  await db
    .updateTable('egress_counts')
    .set({ counted_at: new Date(Date.now() - 3 * 3_600_000) })
    .where('machine_id', '=', id)
    .execute()
  const query = `machine_id=${id}&meter=egress_bytes&start=${daysAgo(1)}`
  const read = async (rest: string) =>
    (await server.call('GET', `/v1/usage?${query}&${rest}`)).body.data
  for (const isSummed of [false, true]) {
    if (isSummed) await compactEgress(db)
    const records = await read('')
    assert.deepEqual(
      records
        .map((row: { labels: object; quantity: string; actor: { id: string } }) => [
          row.quantity,
          row.labels,
          row.actor.id,
        ])
        .toSorted(),
      [
        ['5', { team: 'net' }, me.api_key.id],
        ['7', { team: 'web' }, me.api_key.id],
      ],
    )
    const [sum] = await read('group_by=key')
    assert.deepEqual([sum.quantity, sum.actor.name], ['12', me.api_key.name])
  }
})

test('only who manages billing chooses the keys, at most five different ones', async () => {
  const path = '/v1/usage/labels'
  const refused = await server.as(await server.user('member'))('PUT', path, { keys: ['x'] })
  assert.equal(refused.status, 403)
  for (const keys of [['a', 'a'], ['1', '2', '3', '4', '5', '6'], [''], ['x'.repeat(65)]]) {
    const call = server.as(await server.user('owner'))
    const { status, body } = await call('PUT', path, { keys })
    assert.equal(status, 400, keys.join())
    assert.match(body.error.details[0].field, /^keys/)
  }
})

async function setKeys(keys: readonly string[]): Promise<void> {
  const call = server.as(await server.user('owner'))
  const { status, body } = await call('PUT', '/v1/usage/labels', { keys })
  assert.deepEqual([status, body], [200, { keys }])
  assert.deepEqual((await server.call('GET', '/v1/usage/labels')).body, { keys })
}

async function countLabeled(): Promise<number> {
  const rows = await db.selectFrom('machines').select('labels').execute()
  return rows.filter(({ labels }) => Object.keys(labels).length > 0).length
}

async function intervalsOf(id: string) {
  return db
    .selectFrom('meter_intervals')
    .selectAll()
    .where('machine_id', '=', id as MachineId)
    .orderBy('id')
    .execute()
}

async function labelsOf(id: string): Promise<string[]> {
  const rows = await intervalsOf(id)
  return rows
    .filter(({ meter }) => meter !== 'cold_storage')
    .map(({ labels }) => JSON.stringify(labels))
}

function show(row: Awaited<ReturnType<typeof intervalsOf>>[number]): string {
  const end = row.ended_at === null ? 'open' : 'ended'
  return [row.meter, row.actor_type, row.actor_id, end].join(' ')
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString()
}
