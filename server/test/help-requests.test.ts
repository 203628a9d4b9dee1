import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { sweepHelp } from '../src/domain/help/tending.ts'
import { startTestServer, type Call } from './harness.ts'

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { env })
const { db } = server.app
const robot = await server.apiKey({ name: 'Robot' })
const ada = server.as(await server.user('member'))
const bob = server.as(await server.user('member'))

async function ask(input: Record<string, unknown> = {}) {
  const { id: machineId } = await server.machine()
  const wanted = { reason: 'login', message: 'Please sign in.', ...input }
  const answer = await robot.call('POST', `/v1/machines/${machineId}/help-requests`, wanted)
  assert.equal(answer.status, 201, answer.bytes.toString())
  return { machineId, id: answer.body.id as string, help: answer.body }
}

const post = (call: Call, id: string, action: string, body?: object) =>
  call('POST', `/v1/help-requests/${id}/${action}`, body)

async function typesOf(machineId: string): Promise<string[]> {
  const { body } = await server.call('GET', `/v1/machines/${machineId}/activity?limit=100`)
  const types = body.data.map((entry: { type: string }) => entry.type).toReversed()
  return types.filter((type: string) => type.startsWith('help.') || type === 'control.taken')
}

function refused(answer: Awaited<ReturnType<Call>>, code: string, message: RegExp): void {
  assert.equal(answer.body?.error?.code, code, answer.bytes.toString())
  assert.match(answer.body.error.message, message)
}

test('a person takes the machine, and hands it back with an answer', async () => {
  const { machineId, id, help } = await ask({ choices: ['yes', 'no'], reason: 'approval' })
  const { state, private: isPrivate, requested_by, taken_by, answer, brief, takeover_url } = help
  assert.deepEqual(
    { state, isPrivate, taken_by, answer, brief },
    { state: 'open', isPrivate: false, taken_by: null, answer: null, brief: null },
  )
  assert.deepEqual(requested_by, { type: 'api_key', id: robot.id, name: 'Robot' })
  assert.match(takeover_url, /^http:\/\/127\.0\.0\.1:\d+\/help#computer_help_link_[\w-]{43}$/)
  const session = await robot.call('POST', '/v1/sessions', { machine_id: machineId })
  const leasePath = `/v1/machines/${machineId}/input-lease`
  await robot.call('POST', leasePath, { session_id: session.body.id })
  const point = { at: { x: 1, y: 1 } }
  const click = () => robot.call('POST', `/v1/machines/${machineId}/mouse/click`, point)
  assert.equal((await click()).status, 200)

  const taken = await post(ada, id, 'take')
  assert.equal(taken.status, 200, taken.bytes.toString())
  const { help_request, session: own, lease } = taken.body
  assert.deepEqual([help_request.state, help_request.session_id], ['active', own.id])
  assert.deepEqual([own.type, lease.holder.session_id], ['human', own.id])
  refused(await click(), 'conflict', new RegExp(`${own.id}.*"Somebody"`))
  refused(await post(bob, id, 'take'), 'conflict', /taken by the user "Somebody"/)
  refused(await post(bob, id, 'answer', { outcome: 'done' }), 'conflict', /taken by the user/)
  refused(await post(bob, id, 'release'), 'conflict', /taken by the user/)
  refused(
    await post(ada, id, 'answer', { outcome: 'done', choice: 'maybe' }),
    'invalid_request',
    /yes, no/,
  )
  assert.equal((await robot.call('GET', `/v1/machines/${machineId}/screenshot`)).status, 200)

  const done = await post(ada, id, 'answer', { outcome: 'done', choice: 'yes', text: '123456' })
  assert.equal(done.status, 200, done.bytes.toString())
  assert.deepEqual(done.body.answer, {
    outcome: 'done',
    text: '123456',
    choice: 'yes',
    by: help_request.taken_by,
  })
  assert.deepEqual([done.body.state, done.body.session_id], ['done', null])
  assert.equal(done.body.brief.is_complete, true)
  assert.deepEqual(done.body.brief.pictures, ['before', 'after'])
  for (const of of done.body.brief.pictures) {
    const accept = { accept: 'image/*' }
    const path = `/v1/help-requests/${id}/picture?of=${of}`
    const picture = await robot.call('GET', path, undefined, accept)
    assert.equal(picture.headers['content-type'], 'image/webp')
    assert.equal(picture.bytes.toString('latin1', 8, 12), 'WEBP')
  }
  refused(await post(ada, id, 'answer', { outcome: 'done' }), 'conflict', /has ended: it is done/)
  refused(await click(), 'conflict', /nobody holds/)
  const again = await robot.call('POST', leasePath, { session_id: session.body.id })
  assert.equal(again.status, 200)
  assert.equal((await click()).status, 200)
  const expected = ['help.requested', 'control.taken', 'help.taken', 'help.answered']
  assert.deepEqual(await typesOf(machineId), expected)
  const log = await server.call('GET', `/v1/machines/${machineId}/activity?limit=100`)
  assert.doesNotMatch(log.bytes.toString(), /123456/)
})

test('of many who take a request at once, one gets it', async () => {
  const { machineId, id } = await ask()
  const takers = await Promise.all(
    Array.from({ length: 6 }, async () => server.as(await server.user('member'))),
  )
  const answers = await Promise.all(takers.map((call) => post(call, id, 'take')))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409])
  const open = await server.call('GET', `/v1/sessions?machine_id=${machineId}&state=active`)
  assert.equal(open.body.data.length, 1)
})

test('a repeated take answers with the same session, and a renewal keeps it', async () => {
  const { machineId, id } = await ask()
  const first = await post(ada, id, 'take')
  const second = await post(ada, id, 'take')
  assert.equal(second.body.session.id, first.body.session.id)
  assert.ok(second.body.lease.fence > first.body.lease.fence)
  assert.equal(second.body.lease.acquired_at, first.body.lease.acquired_at)
  const renewal = { session_id: first.body.session.id }
  assert.equal((await ada('POST', `/v1/machines/${machineId}/input-lease`, renewal)).status, 200)
  assert.deepEqual(await typesOf(machineId), ['help.requested', 'help.taken'])
})

test('a request is open again when its person leaves, is gone, or loses the lease', async () => {
  const { machineId, id } = await ask()
  const stateOf = async () => (await robot.call('GET', `/v1/help-requests/${id}`)).body.state
  const opensAgain = () =>
    eventually('open again', async () => ((await stateOf()) === 'open' ? true : undefined))
  const ways = [
    () => post(ada, id, 'release'),
    () =>
      db
        .updateTable('input_leases')
        .set({ expires_at: sql`clock_timestamp()` })
        .where('machine_id', '=', machineId)
        .execute(),
    (session: string) => robot.call('DELETE', `/v1/sessions/${session}`),
    () => server.lease(machineId, { force: true }),
  ]
  for (const go of ways) {
    const { body } = await post(ada, id, 'take')
    assert.equal(body.help_request?.state, 'active', JSON.stringify(body))
    await go(body.session.id)
    await opensAgain()
    const session = await server.call('GET', `/v1/sessions?machine_id=${machineId}`)
    const own = session.body.data.find((one: { id: string }) => one.id === body.session.id)
    assert.equal(own.state, 'closed')
  }
  const last = await post(bob, id, 'answer', { outcome: 'declined' })
  assert.equal(last.body.state, 'declined')
  // Nobody had it then, so nothing is told of what changed.
  assert.equal(last.body.brief, null)
})

test('one who has a machine is left alone by the takers of its other requests', async () => {
  const { machineId, id } = await ask()
  const wanted = { reason: 'question', message: 'Which one?' }
  const other = await robot.call('POST', `/v1/machines/${machineId}/help-requests`, wanted)
  await post(ada, id, 'take')
  refused(await post(bob, other.body.id, 'take'), 'conflict', new RegExp(`help request ${id}`))
  // Answering needs no screen.
  const answer = await post(bob, other.body.id, 'answer', { outcome: 'done', text: 'The first' })
  assert.equal(answer.body.answer.by.type, 'user')
  await post(ada, id, 'answer', { outcome: 'done' })
})

test('a request ends when it is cancelled, when its time is over and when its machine is deleted', async () => {
  const cancelled = await ask()
  await post(ada, cancelled.id, 'take')
  assert.equal((await post(robot.call, cancelled.id, 'cancel')).body.state, 'cancelled')
  const free = await robot.call('GET', `/v1/machines/${cancelled.machineId}/input-lease`)
  assert.equal(free.body.holder, null)

  const expired = await ask()
  await post(ada, expired.id, 'take')
  const waiting = robot.call('GET', `/v1/help-requests/${expired.id}?wait=60`)
  await db
    .updateTable('help_requests')
    .set({ expires_at: sql`clock_timestamp()` })
    .where('id', '=', expired.id as never)
    .execute()
  const late = await post(bob, expired.id, 'cancel')
  refused(late, 'conflict', /has expired|is expired/)
  assert.equal((await waiting).body.state, 'expired')

  const deleted = await ask()
  await robot.call('DELETE', `/v1/machines/${deleted.machineId}`)
  const answer = await robot.call('GET', `/v1/help-requests/${deleted.id}?wait=60`)
  assert.equal(answer.body.state, 'cancelled')
  const list = await robot.call('GET', '/v1/help-requests?state=cancelled&state=expired')
  const ids = list.body.data.map(({ id }: { id: string }) => id)
  for (const { id } of [cancelled, expired, deleted]) assert.ok(ids.includes(id))
})

test('a read waits for the next change, and not for one that has been', async () => {
  const { id } = await ask()
  const first = robot.call('GET', `/v1/help-requests/${id}?wait=60`)
  await post(ada, id, 'take')
  assert.equal((await first).body.state, 'active')
  const second = robot.call('GET', `/v1/help-requests/${id}?wait=60`)
  await post(ada, id, 'answer', { outcome: 'done' })
  assert.equal((await second).body.state, 'done')
  assert.equal((await robot.call('GET', `/v1/help-requests/${id}?wait=60`)).body.state, 'done')
})

test('five requests of a machine wait at most', async () => {
  const { id } = await server.machine()
  const wanted = { reason: 'other', message: 'x' }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => robot.call('POST', `/v1/machines/${id}/help-requests`, wanted)),
  )
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(made.length, 5)
  await post(robot.call, made[0]!.body.id, 'cancel')
  const next = await robot.call('POST', `/v1/machines/${id}/help-requests`, wanted)
  assert.equal(next.status, 201)
})

test('an assignee is a member, and is told by mail, with neither link nor markup', async () => {
  const user = await server.user('member')
  await db.updateTable('users').set({ password_hash: 'x' }).where('id', '=', user.userId).execute()
  const message = 'First line\nsecond <b>line</b>'
  const { help, machineId } = await ask({ assignee: user.userId, message })
  assert.deepEqual(help.assignee, { id: user.userId, name: 'Somebody' })
  const mail = await db
    .selectFrom('mails')
    .selectAll()
    .where('recipient', '=', `${user.userId}@example.com`)
    .executeTakeFirstOrThrow()
  assert.match(mail.subject, /^Robot asks for help on /)
  assert.match(mail.body, /\n> First line\n> second <b>line<\/b>\n/)
  assert.match(mail.body, /\/help-requests\n/)
  assert.doesNotMatch(mail.body, /computer_help_link/)
  const stranger = await server.user('owner', 'stranger')
  const wanted = { reason: 'other', message: 'x', assignee: stranger.userId }
  const answer = await robot.call('POST', `/v1/machines/${machineId}/help-requests`, wanted)
  refused(answer, 'invalid_request', /assignee: must be a member/)
})

test('requests are deleted with their answers and pictures 30 days after their end', async () => {
  const { id } = await ask()
  await post(ada, id, 'take')
  await post(ada, id, 'answer', { outcome: 'done' })
  const age = (days: number) =>
    db
      .updateTable('help_requests')
      .set({ ended_at: sql`clock_timestamp() - make_interval(days => ${days})` })
      .where('id', '=', id as never)
      .execute()
  await age(29)
  await sweepHelp(db)
  assert.equal((await robot.call('GET', `/v1/help-requests/${id}`)).status, 200)
  await age(31)
  await sweepHelp(db)
  assert.equal((await robot.call('GET', `/v1/help-requests/${id}`)).status, 404)
})
