import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('after one acquire a plain call works for the same key, and for no other', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  assert.deepEqual((await move(server.call, id)).body, {})
  const other = await server.apiKey()
  const refused = await move(other.call, id)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, /"Owner key"/)
  assert.deepEqual(landed(id), ['move 10,20'])
})

test('x-session-id must name the open session of the caller that holds the lease', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  assert.equal((await move(server.call, id, { 'x-session-id': sessionId })).status, 200)

  const { body: idle } = await server.call('POST', '/v1/sessions', { machine_id: id })
  const wrong = await move(server.call, id, { 'x-session-id': idle.id })
  assert.deepEqual([wrong.status, wrong.body.error.code], [409, 'conflict'])
  assert.match(wrong.body.error.message, new RegExp(sessionId))

  const other = await server.apiKey()
  assert.equal((await move(other.call, id, { 'x-session-id': sessionId })).status, 403)
  assert.equal((await move(server.call, id, { 'x-session-id': 'nonsense' })).status, 400)
  const unknown = `ses_${'0'.repeat(26)}`
  assert.equal((await move(server.call, id, { 'x-session-id': unknown })).status, 404)
  assert.deepEqual(landed(id), ['move 10,20'])
})

test('x-input-fence pins the holding; a stale one is refused and names the holder', async () => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  const at = (pinned: unknown) => move(server.call, id, { 'x-input-fence': String(pinned) })
  assert.equal((await at(fence)).status, 200)
  for (const wrong of [fence - 1, fence + 1, 999_999_999_999]) {
    const refused = await at(wrong)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], String(wrong))
    assert.match(refused.body.error.message, new RegExp(`stale.*${sessionId}.*your own key`))
  }
  for (const bad of ['-1', '1.5', 'one', '1e400']) assert.equal((await at(bad)).status, 400, bad)
  const session_id = sessionId
  await server.call('POST', `/v1/machines/${id}/input-lease`, { session_id })
  assert.equal((await at(fence)).status, 200)
  assert.equal((await at(fence + 1)).status, 200)

  // A takeover ends the holding, and so does a release, even if the same session acquires again.
  await server.lease(id, { force: true })
  assert.equal((await at(fence + 1)).body.error.code, 'conflict')
  await server.call('POST', `/v1/machines/${id}/input-lease`, { session_id, force: true })
  const own = { 'x-session-id': sessionId, 'x-input-fence': String(fence + 1) }
  assert.equal((await move(server.call, id, own)).body.error.code, 'conflict')
})

test('without a valid lease, input is refused and has no effect', async () => {
  const { id } = await server.machine()
  const none = await move(server.call, id)
  assert.deepEqual([none.status, none.body.error.code], [409, 'conflict'])
  const { sessionId } = await server.lease(id)
  await db
    .updateTable('input_leases')
    .set({ expires_at: sql`clock_timestamp() - interval '1 millisecond'` })
    .where('machine_id', '=', id)
    .execute()
  for (const headers of [{}, { 'x-session-id': sessionId }]) {
    const expired = await move(server.call, id, headers)
    assert.deepEqual([expired.status, expired.body.error.code], [409, 'conflict'])
  }
  await server.call('DELETE', `/v1/sessions/${sessionId}`)
  assert.equal((await move(server.call, id, { 'x-session-id': sessionId })).status, 412)
  assert.deepEqual(landed(id), [])
})

test('once a takeover has returned, no input of the earlier holder takes effect', async () => {
  const { id } = await server.machine()
  const first = await server.lease(id)
  const { desktop } = server.guest(id)
  const hold = desktop.holdInput()
  const drag = server.call('POST', `/v1/machines/${id}/mouse/drag`, {
    from: { x: 0, y: 0 },
    to: { x: 100, y: 100 },
  })
  await hold.reached
  const queued = move(server.call, id, { 'x-session-id': first.sessionId })

  const taker = await server.apiKey()
  const { body: session } = await taker.call('POST', '/v1/sessions', { machine_id: id })
  const request = { session_id: session.id, force: true }
  const taken = await taker.call('POST', `/v1/machines/${id}/input-lease`, request)
  assert.equal(taken.status, 200)
  const seen = desktop.events.length
  assert.deepEqual([...desktop.pressed], [])
  hold.release()

  for (const refused of await Promise.all([drag, queued])) {
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    assert.match(refused.body.error.message, new RegExp(session.id))
  }
  assert.equal((await move(taker.call, id)).status, 200)
  const late = desktop.events.slice(seen)
  assert.deepEqual(late, [{ fence: taken.body.fence, event: 'move 10,20' }])
})

test('a takeover ends input in progress even if the first holder takes the lease back', async () => {
  const { id } = await server.machine()
  const first = await server.lease(id)
  const { desktop } = server.guest(id)
  const hold = desktop.holdInput()
  const typing = server.call('POST', `/v1/machines/${id}/keyboard/type`, { text: 'abc' })
  await hold.reached
  await server.lease(id, { force: true })
  const request = { session_id: first.sessionId, force: true }
  const back = await server.call('POST', `/v1/machines/${id}/input-lease`, request)
  assert.equal(back.status, 200)
  hold.release()
  const refused = await typing
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.deepEqual(landed(id), ['text a'])
})

test("a renewal does not interrupt its holder's input, which takes effect once", async () => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  const hold = server.guest(id).desktop.holdInput()
  const typing = server.call('POST', `/v1/machines/${id}/keyboard/type`, { text: 'abc' })
  await hold.reached
  const request = { session_id: sessionId }
  const renewed = await server.call('POST', `/v1/machines/${id}/input-lease`, request)
  assert.equal(renewed.body.fence, fence + 1)
  hold.release()
  assert.equal((await typing).status, 200)
  assert.equal((await move(server.call, id)).status, 200)
  assert.deepEqual(landed(id), ['text a', 'text b', 'text c', 'move 10,20'])
})

test('a guest that rebooted gets the fence again, and stale input still has no effect', async () => {
  const { id } = await server.machine()
  const first = await server.lease(id)
  const second = await server.lease(id, { force: true })
  server.engine.controls.reboot({ id, generation: 1 })
  const asFirst = { 'x-session-id': first.sessionId, 'x-input-fence': String(first.fence) }
  assert.equal((await move(server.call, id, asFirst)).body.error.code, 'conflict')
  const asSecond = { 'x-session-id': second.sessionId, 'x-input-fence': String(second.fence) }
  assert.equal((await move(server.call, id, asSecond)).status, 200)
  assert.deepEqual(landed(id), ['move 10,20'])
  assert.equal(server.guest(id).desktop.fence, second.fence)
})

test('input to a stopped machine is refused, and the lease still holds after the next start', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  assert.equal((await move(server.call, id)).body.error.code, 'precondition_failed')
  await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  assert.equal((await move(server.call, id, { 'x-session-id': sessionId })).status, 200)
})

test('the scope machines:control alone suffices for input, and without it none is sent', async () => {
  const { id } = await server.machine()
  const controller = await server.apiKey({ scopes: ['machines:control'] })
  const { body } = await controller.call('POST', '/v1/sessions', { machine_id: id })
  const path = `/v1/machines/${id}/input-lease`
  await controller.call('POST', path, { session_id: body.id })
  assert.equal((await move(controller.call, id)).status, 200)
  const reader = await server.apiKey({ scopes: ['machines:read', 'sessions:write'] })
  assert.equal((await move(reader.call, id)).status, 403)
})

test('input that names a screenshot is refused once the screen has changed, and nothing moves', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const { body: shot } = await server.call('GET', `/v1/machines/${id}/screenshot`)
  const image = await server.http.inject({
    url: `/v1/machines/${id}/screenshot`,
    headers: { authorization: `Bearer ${server.key}`, accept: 'image/png' },
  })
  assert.equal(image.headers['x-screenshot-id'], shot.id)
  const seen = { 'x-if-screenshot': shot.id }
  const strict = { ...seen, 'x-screen-tolerance': 'strict' }
  assert.equal((await move(server.call, id, strict)).status, 200)
  const calls = [
    ['mouse/move', { x: 1, y: 1 }],
    ['mouse/click', {}],
    ['mouse/drag', { to: { x: 1, y: 1 } }],
    ['mouse/scroll', { direction: 'down' }],
    ['keyboard/type', { text: 'x' }],
    ['keyboard/key', { key: 'F5' }],
    ['keyboard/hotkey', { keys: ['ctrl', 'c'] }],
    ['display/resize', { width: 800, height: 600 }],
  ] as const
  for (const [path, body] of calls) {
    const refused = await server.call('POST', `/v1/machines/${id}/${path}`, body, seen)
    assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed'], path)
    assert.equal(refused.body.error.details[0].field, 'x-if-screenshot')
  }
  assert.equal((await move(server.call, id, { 'x-if-screenshot': 'of another' })).status, 400)
  assert.equal((await move(server.call, id, { ...seen, 'x-screen-tolerance': 'none' })).status, 400)
  assert.deepEqual(landed(id), ['move 10,20'])
})

test('a caller waits for a change of the screen', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const { body: shot } = await server.call('GET', `/v1/machines/${id}/screenshot`)
  const wait = (query: string) => server.call('GET', `/v1/machines/${id}/screen/wait?${query}`)
  const none = await wait(`since=${shot.id}&timeout_ms=30`)
  assert.deepEqual(none.body, { changed: false, changing: null })
  const waiting = wait(`since=${shot.id}&timeout_ms=30000`)
  await move(server.call, id)
  assert.equal((await waiting).body.changed, true)
  assert.equal((await wait('since=unknown')).status, 412)
  for (const wrong of [
    '',
    'since=a%20b',
    `since=${shot.id}&timeout_ms=30001`,
    `since=x&region=1`,
  ]) {
    assert.equal((await wait(wrong)).status, 400, wrong)
  }
})

function move(call: typeof server.call, id: string, headers: Record<string, string> = {}) {
  return call('POST', `/v1/machines/${id}/mouse/move`, { x: 10, y: 20 }, headers)
}

function landed(id: MachineId): string[] {
  return server.guest(id).desktop.events.map(({ event }) => event)
}
