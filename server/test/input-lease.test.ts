import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { collide } from './forced-race.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const { db } = server.app

test('the lease is acquired, read and released, with every field of the contract', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/input-lease`
  const nobody = { machine_id: id, holder: null, acquired_at: null, expires_at: null }
  assert.deepEqual((await server.call('GET', path)).body, { ...nobody, fence: 0 })

  const robot = await server.apiKey({ name: 'Robot' })
  const session_id = await openSession(robot.call, id)
  const granted = await robot.call('POST', path, { session_id })
  assert.equal(granted.status, 200)
  const { acquired_at, expires_at, ...rest } = granted.body
  assert.equal(Math.round((Date.parse(expires_at) - Date.parse(acquired_at)) / 1000), 60)
  assert.deepEqual(rest, {
    machine_id: id,
    holder: {
      session_id,
      type: 'agent',
      opened_by: { type: 'api_key', id: robot.id, name: 'Robot' },
    },
    fence: 1,
  })
  assert.deepEqual((await server.call('GET', path)).body, granted.body)

  const released = await robot.call('DELETE', `${path}?session_id=${session_id}`)
  assert.deepEqual([released.status, released.body], [200, { ...nobody, fence: 2 }])
  const again = await robot.call('DELETE', `${path}?session_id=${session_id}`)
  assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
})

test('a renewal keeps the lease and its acquisition time, and raises the fence', async () => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id, { ttl_seconds: 5 })
  const before = await server.call('GET', `/v1/machines/${id}/input-lease`)
  const request = { session_id: sessionId, ttl_seconds: 3600 }
  const renewed = await server.call('POST', `/v1/machines/${id}/input-lease`, request)
  assert.equal(renewed.body.fence, fence + 1)
  assert.equal(renewed.body.acquired_at, before.body.acquired_at)
  assert.ok(renewed.body.expires_at > before.body.expires_at)
  assert.deepEqual(await sessionEvents(id), ['connected', 'control_acquired'])
})

test('a lease held by another session is a conflict that names the holder', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  const other = await server.apiKey()
  const session_id = await openSession(other.call, id)
  const refused = await other.call('POST', `/v1/machines/${id}/input-lease`, { session_id })
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, new RegExp(`${sessionId}.*"Owner key", until`))
  const own = await acquire(server.call, id, await openSession(server.call, id))
  assert.match(own.body.error.message, new RegExp(`${sessionId}.*"Owner key" \\(your own key\\)`))
  const path = `/v1/machines/${id}/input-lease?session_id=${session_id}`
  const released = await other.call('DELETE', path)
  assert.deepEqual([released.status, released.body.error.code], [409, 'conflict'])
  assert.match(released.body.error.message, new RegExp(sessionId))
})

test('force takes the lease over, and the log records it', async () => {
  const { id } = await server.machine()
  const first = await server.lease(id)
  const second = await server.lease(id, { force: true })
  assert.ok(second.fence > first.fence)
  await server.call('DELETE', `/v1/sessions/${second.sessionId}`)
  const { body } = await server.call('GET', `/v1/machines/${id}/events?limit=100`)
  const log = body.data
    .filter((event: { session_id: string | null }) => event.session_id)
    .map((event: { type: string; session_id: string }) => [event.type, event.session_id])
  assert.deepEqual(log.toReversed(), [
    ['session.connected', first.sessionId],
    ['session.control_acquired', first.sessionId],
    ['session.connected', second.sessionId],
    ['session.control_released', first.sessionId],
    ['session.control_acquired', second.sessionId],
    ['session.control_released', second.sessionId],
    ['session.disconnected', second.sessionId],
  ])
})

test('a lease expires by the clock of the database', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/input-lease`
  const first = await server.lease(id)
  await expire(id)
  const free = await server.call('GET', path)
  assert.deepEqual([free.body.holder, free.body.expires_at], [null, null])
  assert.ok(free.body.fence >= first.fence)
  const gone = await server.call('DELETE', `${path}?session_id=${first.sessionId}`)
  assert.equal(gone.status, 409)
  const second = await server.lease(id)
  assert.ok(second.fence > first.fence)
})

test('closing a session releases its lease', async () => {
  const { id } = await server.machine()
  const { sessionId, fence } = await server.lease(id)
  await server.call('DELETE', `/v1/sessions/${sessionId}`)
  const { body } = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.deepEqual([body.holder, body.fence], [null, fence + 1])
  const acquired = await acquire(server.call, id, sessionId)
  assert.deepEqual([acquired.status, acquired.body.error.code], [412, 'precondition_failed'])
})

test('a view session cannot hold the lease', async () => {
  const { id: machine_id } = await server.machine()
  const { body } = await server.call('POST', '/v1/sessions', { machine_id, type: 'view' })
  for (const force of [false, true]) {
    const refused = await acquire(server.call, machine_id, body.id, { force })
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied'])
  }
})

test("another caller's session is refused; a stranger's or another machine's is not found", async () => {
  const { id } = await server.machine()
  const { id: elsewhere } = await server.machine({ start: false })
  const session = await openSession(server.call, id)
  const other = await server.apiKey()
  assert.equal((await acquire(other.call, id, session)).status, 403)
  const path = `/v1/machines/${id}/input-lease?session_id=${session}`
  assert.equal((await other.call('DELETE', path)).status, 403)
  assert.equal(
    (await acquire(server.call, id, await openSession(server.call, elsewhere))).status,
    404,
  )

  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.equal((await acquire(stranger, id, session)).status, 404)
  const theirs = await stranger('POST', '/v1/machines', { start: false })
  const theirSession = await openSession(stranger, theirs.body.id)
  assert.equal((await acquire(server.call, id, theirSession)).status, 404)
})

test('ttl_seconds is 5 to 3600', async () => {
  const { id } = await server.machine()
  const session = await openSession(server.call, id)
  for (const ttl_seconds of [4, 3601, 5.5, -1, '60']) {
    const refused = await acquire(server.call, id, session, { ttl_seconds })
    assert.deepEqual([refused.status, refused.body.error.details[0].field], [400, 'ttl_seconds'])
  }
  for (const ttl_seconds of [5, 3600]) {
    const { body } = await acquire(server.call, id, session, { ttl_seconds })
    const grantedMs = Date.parse(body.expires_at) - Date.parse(body.acquired_at)
    assert.equal(Math.round(grantedMs / 1000), ttl_seconds)
    await server.call('DELETE', `/v1/machines/${id}/input-lease?session_id=${session}`)
  }
})

test('the lease of a machine that is not running can be released but not acquired', async () => {
  const { id } = await server.machine()
  const { sessionId } = await server.lease(id)
  await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  const refused = await acquire(server.call, id, sessionId)
  assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed'])
  assert.match(refused.body.error.message, /stopped/)
  const path = `/v1/machines/${id}/input-lease?session_id=${sessionId}`
  assert.equal((await server.call('DELETE', path)).status, 200)
})

test('the fence rises with every grant and release, and each response is correct', async () => {
  const { id } = await server.machine()
  const sessions = await Promise.all(
    Array.from({ length: 4 }, async () => openSession(server.call, id)),
  )
  const callers = Array.from({ length: 24 }, (_, index) => sessions[index % 4]!)
  const answers = await Promise.all(
    callers.map((session) => acquire(server.call, id, session, { force: true })),
  )
  const granted = answers.flatMap(({ status, body }, index) => {
    if (status === 200) assert.equal(body.holder.session_id, callers[index])
    else assert.equal(body.error.code, 'conflict')
    return status === 200 ? [body.fence as number] : []
  })
  assert.ok(granted.length > 0)
  const { body } = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.equal(body.fence, 24)
  assert.equal(Math.max(...granted), 24)
  await server.call('DELETE', `/v1/sessions/${body.holder.session_id}`)
  assert.equal((await server.call('GET', `/v1/machines/${id}/input-lease`)).body.fence, 25)
})

test('a session that is closed while it acquires the lease does not get it', async () => {
  const { id } = await server.machine()
  const sessionId = await openSession(server.call, id)
  const hold = (tx: typeof db) =>
    tx.selectFrom('input_leases').where('machine_id', '=', id).select('fence').forUpdate().execute()
  const [refused] = await collide(db, hold, [() => acquire(server.call, id, sessionId)], (tx) =>
    tx
      .updateTable('sessions')
      .set({ closed_at: sql`now()` })
      .where('id', '=', sessionId as never)
      .execute(),
  )
  assert.deepEqual([refused!.status, refused!.body.error.code], [412, 'precondition_failed'])
  assert.equal((await server.call('GET', `/v1/machines/${id}/input-lease`)).body.holder, null)
})

async function openSession(call: typeof server.call, machine_id: string): Promise<string> {
  const { body } = await call('POST', '/v1/sessions', { machine_id })
  return body.id
}

function acquire(
  call: typeof server.call,
  machineId: string,
  session_id: string,
  options: Record<string, unknown> = {},
) {
  return call('POST', `/v1/machines/${machineId}/input-lease`, { session_id, ...options })
}

async function expire(machineId: string): Promise<void> {
  await db
    .updateTable('input_leases')
    .set({ expires_at: sql`clock_timestamp() - interval '1 millisecond'` })
    .where('machine_id', '=', machineId as never)
    .execute()
}

async function sessionEvents(machineId: string): Promise<string[]> {
  const { body } = await server.call('GET', `/v1/machines/${machineId}/events?limit=100`)
  const types: string[] = body.data.map((event: { type: string }) => event.type)
  return types.flatMap((type) => /^session\.(.*)/.exec(type)?.[1] ?? []).toReversed()
}
