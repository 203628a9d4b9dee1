import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../e2e/harness/polling.ts'
import { assertRefused } from './endpoint-calls.ts'
import { HandshakeRefused, startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { openLink } from './help-calls.ts'
import { connected } from './screen-driver.ts'
import { view } from './screen-viewer.ts'

/* Guests: what a takeover link opens, for how long, and for nobody else. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)

async function ask(input: Record<string, unknown> = {}) {
  const robot = await server.apiKey({ name: 'Robot' })
  const { id: machineId } = await server.machine()
  const wanted = { reason: 'captcha', message: 'Please solve it.', ...input }
  const { body } = await robot.call('POST', `/v1/machines/${machineId}/help-requests`, wanted)
  return { machineId, id: body.id as string, takeoverUrl: body.takeover_url as string, robot }
}

async function take(takeoverUrl: string, name = 'Ada') {
  const guest = await openLink(server, takeoverUrl)
  const { status, body } = await guest.call('POST', '/v1/help-guest/take', { name })
  assert.equal(status, 200, JSON.stringify(body))
  return { ...guest, sessionId: body.session_id as string, taken: body }
}

test('a guest sees what is asked, takes the screen, and hands it back', async () => {
  const { machineId, id, takeoverUrl, robot } = await ask({ choices: ['red', 'blue'] })
  const { redeemed, call, headers } = await openLink(server, takeoverUrl)
  const asked = {
    state: 'open',
    reason: 'captcha',
    message: 'Please solve it.',
    choices: ['red', 'blue'],
    private: false,
    requested_by_name: 'Robot',
    is_taken_by_guest: false,
    session_id: null,
  }
  const { machine, organization_name, expires_at, ...rest } = redeemed.body
  assert.deepEqual(rest, asked)
  assert.equal(machine.id, machineId)
  assert.ok(organization_name && expires_at)
  const [cookie] = [redeemed.headers['set-cookie']].flat()
  assert.match(
    String(cookie),
    /^computer_guest=\S+; Path=\/; Max-Age=86400; HttpOnly; SameSite=Lax$/,
  )

  const taken = await call('POST', '/v1/help-guest/take', { name: 'Ada' })
  const { help, session_id: sessionId, lease } = taken.body
  assert.deepEqual(
    [help.state, help.is_taken_by_guest, help.session_id],
    ['active', true, sessionId],
  )
  const { body: request } = await robot.call('GET', `/v1/help-requests/${id}`)
  assert.deepEqual(request.taken_by, { type: 'guest', id, name: 'Ada' })
  const renewed = await call('POST', '/v1/help-guest/renew')
  assert.equal(renewed.body.fence, lease.fence + 1)

  const screen = await connect(machineId, sessionId, headers)
  assert.equal(screen.socket.readyState, screen.socket.OPEN)
  const done = await call('POST', '/v1/help-guest/answer', { outcome: 'done', choice: 'red' })
  assert.equal(done.body.state, 'done')
  const answered = await robot.call('GET', `/v1/help-requests/${id}`)
  assert.equal(answered.body.answer.by.name, 'Ada')
  assertRefused(await call('GET', '/v1/help-guest'), 'unauthenticated', '')
})

test('a link works once, and forged and used ones alike do not', async () => {
  const { takeoverUrl } = await ask()
  const [first, second] = await Promise.all([
    openLink(server, takeoverUrl),
    openLink(server, takeoverUrl),
  ])
  assert.deepEqual([first, second].map(({ redeemed }) => redeemed.status).sort(), [200, 404])
  const loser = [first, second].find(({ redeemed }) => redeemed.status === 404)!
  assertRefused(await loser.call('GET', '/v1/help-guest'), 'unauthenticated', '')
  const forged = takeoverUrl.slice(0, -1) + (takeoverUrl.endsWith('A') ? 'B' : 'A')
  for (const url of [forged, `${takeoverUrl}x`, 'http://127.0.0.1/help#x']) {
    assertRefused((await openLink(server, url)).redeemed, 'not_found', '')
  }
})

test('a new link ends the earlier one and who came by it', async () => {
  const { machineId, id, takeoverUrl, robot } = await ask()
  const guest = await take(takeoverUrl)
  const screen = await connect(machineId, guest.sessionId, guest.headers)
  const { body } = await robot.call('POST', `/v1/help-requests/${id}/link`)
  assertRefused(await guest.call('GET', '/v1/help-guest'), 'unauthenticated', '')
  assert.ok([4401, 4410].includes((await screen.closed).code))
  const free = await robot.call('GET', `/v1/machines/${machineId}/input-lease`)
  assert.equal(free.body.holder, null)
  const next = await take(body.takeover_url, 'Eve')
  const { body: third } = await robot.call('POST', `/v1/help-requests/${id}/link`)
  assertRefused(await next.call('POST', '/v1/help-guest/renew'), 'unauthenticated', '')
  await robot.call('POST', `/v1/help-requests/${id}/cancel`)
  assertRefused((await openLink(server, third.takeover_url)).redeemed, 'not_found', '')
})

test('the cookie of a guest opens the screen of the session, and nothing else', async () => {
  const { machineId, takeoverUrl } = await ask()
  const guest = await take(takeoverUrl)
  const other = await ask()
  const stranger = await take(other.takeoverUrl)
  const path = `/v1/machines/${machineId}`
  const paths = [path, `${path}/screenshot`, `${path}/files?path=/`, '/v1/auth/me', '/v1/machines']
  for (const one of paths) assertRefused(await guest.call('GET', one), 'unauthenticated', '')
  const exec = await guest.call('POST', `${path}/exec`, { command: ['id'] })
  assertRefused(exec, 'unauthenticated', '')
  const withoutOrigin = { cookie: guest.headers.cookie! }
  const { sessionId } = guest
  const session = `session_id=${sessionId}`
  const refusals: [string, Record<string, string>, string][] = [
    [`${path}/screen?${session}`, stranger.headers, 'unauthenticated'],
    [`${path}/screen`, guest.headers, 'unauthenticated'],
    [`${path}/screen?${session}`, withoutOrigin, 'permission_denied'],
    [`/v1/machines/${other.machineId}/screen?${session}`, guest.headers, 'not_found'],
    [`${path}/events?${session}`, guest.headers, 'unauthenticated'],
    [`${path}/activity?${session}`, guest.headers, 'unauthenticated'],
    [
      `${path}/terminals/trm_01kaj0v3m8q4t2x6y9z1b5c7d3?${session}`,
      guest.headers,
      'unauthenticated',
    ],
  ]
  for (const [url, headers, code] of refusals) {
    const sent = headers['origin'] ? { ...headers, origin: gateway.origin } : headers
    const refusal: unknown = await gateway.connect(url, { headers: sent }).catch((error) => error)
    assert.ok(refusal instanceof HandshakeRefused, url)
    assertRefused(refusal, code as never, url)
  }
  const foreign = { ...guest.headers, origin: 'https://evil.example' }
  const renewal = await server.anonymous('POST', '/v1/help-guest/renew', {}, foreign)
  assertRefused(renewal, 'permission_denied', '')
})

test('whoever asked for help does not act as the guest, though the session is theirs', async () => {
  const { machineId, takeoverUrl, robot } = await ask()
  const { sessionId } = await take(takeoverUrl)
  const path = `/v1/machines/${machineId}`
  const click = { at: { x: 1, y: 1 } }
  const bare = await robot.call('POST', `${path}/mouse/click`, click)
  assertRefused(bare, 'conflict', '')
  assert.match(bare.body.error.message, new RegExp(`${sessionId} of the guest "Ada"`))
  const named = { 'x-session-id': sessionId }
  const asGuest = await robot.call('POST', `${path}/mouse/click`, click, named)
  assertRefused(asGuest, 'permission_denied', '')
  const renewal = { session_id: sessionId }
  assertRefused(await robot.call('POST', `${path}/input-lease`, renewal), 'permission_denied', '')
  const release = `${path}/input-lease?session_id=${sessionId}`
  assertRefused(await robot.call('DELETE', release), 'permission_denied', '')
  const refusal: unknown = await view(gateway, machineId, robot.secret, {
    session: sessionId,
  }).catch((error: unknown) => error)
  assert.ok(refusal instanceof HandshakeRefused)
  assertRefused(refusal, 'permission_denied', '')
})

test('a guest loses the screen with the access of whoever asked', async () => {
  const { machineId, takeoverUrl, robot } = await ask()
  const guest = await take(takeoverUrl)
  const screen = await connect(machineId, guest.sessionId, guest.headers)
  const owner = server.as(await server.user('owner'))
  assert.equal((await owner('DELETE', `/v1/api-keys/${robot.id}`)).status, 200)
  assert.ok([4401, 4410].includes((await screen.closed).code))
  assertRefused(await guest.call('POST', '/v1/help-guest/renew'), 'unauthenticated', '')
  await eventually('the lease is free', async () => {
    const { body } = await server.call('GET', `/v1/machines/${machineId}/input-lease`)
    return body.holder === null ? true : undefined
  })
})

test("a guest's input is logged under the guest's name, and a link in no log", async () => {
  const { machineId, takeoverUrl } = await ask()
  const { headers, sessionId, taken } = await take(takeoverUrl, 'Ada "the first"')
  const browser = { ...headers, origin: gateway.origin }
  const viewer = await view(gateway, machineId, browser, { session: sessionId })
  await connected(viewer)
  viewer.socket.send({ type: 'input_fence', fence: taken.lease.fence })
  viewer.rfb.pointer(5, 6)
  await eventually('the input is logged', async () => {
    const { body } = await server.call(
      'GET',
      `/v1/machines/${machineId}/activity?type=viewer.input`,
    )
    return body.data.length > 0 || undefined
  })
  const log = await server.call('GET', `/v1/machines/${machineId}/activity?limit=100`)
  const input = log.body.data.find(({ type }: { type: string }) => type === 'viewer.input')
  assert.deepEqual([input.actor.type, input.actor.name], ['guest', 'Ada "the first"'])
  assert.doesNotMatch(log.bytes.toString(), /computer_help/)
})

async function connect(machineId: string, sessionId: string, headers: Record<string, string>) {
  const path = `/v1/machines/${machineId}/screen?session_id=${sessionId}`
  return gateway.connect(path, { headers: { ...headers, origin: gateway.origin } })
}
