import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { GatewayClient } from '../server/test/gateway.ts'
import { rfbOverWebSocket } from '../server/test/rfb-client.ts'
import { createApiClient, type ApiClient } from './harness/api.ts'
import { eventually } from './harness/polling.ts'
import { signInOwner, type Person } from './harness/person.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * A person takes the keyboard from an agent, and gives it back. What each of them types is written by a
 * program on the desktop, character by character. The tests build on each other.
 */

let server: RealServer
let agent: ApiClient
let ada: Person
let gatewayUrl = ''
let id = ''
let agentSession = ''
let adaSession = ''
const clients: GatewayClient[] = []
const path = (rest: string) => `/v1/machines/${id}/${rest}`

before(async () => {
  server = await joinServer()
  gatewayUrl = (await server.api.ok('GET', '/v1/auth/me')).gateway_url
  ada = await signInOwner(server, 'Ada')
  const scopes = ['machines:write', 'machines:control', 'sessions:write']
  const { secret } = await ada.ok('POST', '/v1/api-keys', { name: 'Robot', scopes })
  agent = createApiClient(server.api.baseUrl, secret)
  id = (await agent.ok('POST', '/v1/machines', {})).id
  await agent.waitForDesktop(id)
  await agent.launch(id, `xfce4-terminal -x sh -c 'stty -icanon; exec cat >typed.txt'`)
  await eventually('the program reads', async () => (await typed()) === '')
})
after(async () => {
  for (const client of clients) client.socket.terminate()
  await server?.[Symbol.asyncDispose]()
})

test('an agent with a key acquires the lease and types', async () => {
  agentSession = (await agent.ok('POST', '/v1/sessions', { machine_id: id })).id
  const lease = await agent.ok('POST', path('input-lease'), { session_id: agentSession })
  assert.deepEqual(lease.holder, {
    session_id: agentSession,
    type: 'agent',
    opened_by: { type: 'api_key', id: lease.holder.opened_by.id, name: 'Robot' },
  })
  await agent.ok('POST', path('keyboard/type'), { text: 'agent ' })
  await typing('agent ')
})

test('a person takes it by force and types over a screen socket', async () => {
  const opened = await ada.ok('POST', '/v1/sessions', { machine_id: id })
  assert.equal(opened.type, 'human')
  adaSession = opened.id
  const asked = await ada.call('POST', path('input-lease'), { session_id: adaSession })
  assert.deepEqual([asked.status, asked.body.error.code], [409, 'conflict'])
  assert.match(asked.body.error.message, new RegExp(`${agentSession}.*"Robot"`))

  const screen = await view(adaSession)
  const mine = { session_id: adaSession, force: true }
  const { fence, holder } = await ada.ok('POST', path('input-lease'), mine)
  assert.deepEqual([holder.type, holder.opened_by.name], ['human', 'Ada'])
  screen.type('lost ')
  screen.client.send({ type: 'input_fence', fence })
  screen.type('ada ')
  await typing('agent ada ')
})

test("the agent's next input is refused and names the holder", async () => {
  const before = await typed()
  for (const headers of [{}, { 'x-session-id': agentSession }]) {
    const refused = await agent.call('POST', path('keyboard/type'), { text: 'agent ' }, headers)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    assert.match(refused.body.error.message, new RegExp(`human session ${adaSession}.*"Ada"`))
  }
  assert.equal(await typed(), before)
})

test('whoever only views never sends: not without the lease, not in a view session', async () => {
  const watching = await ada.ok('POST', '/v1/sessions', { machine_id: id, type: 'view' })
  const force = { session_id: watching.id, force: true }
  const refused = await ada.call('POST', path('input-lease'), force)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied'])

  const { fence } = await ada.ok('GET', path('input-lease'))
  const before = await typed()
  const viewers = await Promise.all([view(watching.id), view()])
  for (const { client, type } of viewers) {
    client.send({ type: 'input_fence', fence })
    type('viewer ')
  }
  // What is sent after them, by the holder, lands; nothing of them does.
  const screen = await view(adaSession)
  screen.client.send({ type: 'input_fence', fence })
  for (const { client } of viewers) await heard(client)
  screen.type('again ')
  await typing(`${before}again `)
})

test('the person releases, and the agent acquires again', async () => {
  const screen = await view(adaSession)
  const { fence } = await ada.ok('GET', path('input-lease'))
  screen.client.send({ type: 'input_fence', fence })
  screen.type('bye ')
  await typing('agent ada again bye ')
  await ada.ok('DELETE', path(`input-lease?session_id=${adaSession}`))
  await screen.client.until(({ controls }) => controls.find(({ type }) => type === 'lease_lost'))
  const early = await agent.call('POST', path('keyboard/type'), { text: 'early ' })
  assert.equal(early.status, 409)

  await agent.ok('POST', path('input-lease'), { session_id: agentSession })
  screen.type('ada ')
  await heard(screen.client)
  await agent.ok('POST', path('keyboard/type'), { text: 'agent' })
  await typing('agent ada again bye agent')
  const lost = screen.client.controls.filter(({ type }) => type === 'lease_lost')
  assert.deepEqual(lost, [{ type: 'lease_lost', fence }])
})

test('the event log says who had control, step by step', async () => {
  const { data } = await ada.ok('GET', path('events?limit=100'))
  const control = (data as { type: string; session_id: string }[])
    .filter(({ type }) => type.startsWith('session.control'))
    .map(({ type, session_id }) => [type, session_id])
  assert.deepEqual(control.toReversed(), [
    ['session.control_acquired', agentSession],
    ['session.control_released', agentSession],
    ['session.control_acquired', adaSession],
    ['session.control_released', adaSession],
    ['session.control_acquired', agentSession],
  ])
})

/** Ada's browser looks at the screen, in one of her sessions or in none. */
async function view(sessionId?: string) {
  const query = sessionId === undefined ? '' : `?session_id=${sessionId}`
  const headers = { cookie: ada.cookie, origin: server.api.baseUrl }
  const client = new GatewayClient(new WebSocket(gatewayUrl + path(`screen${query}`), { headers }))
  clients.push(client)
  const rfb = rfbOverWebSocket(client.socket)
  await client.opened
  await rfb.until(({ updates }) => updates.length > 0)
  return {
    client,
    type(text: string) {
      for (const character of text) {
        rfb.key(character.codePointAt(0)!, true)
        rfb.key(character.codePointAt(0)!, false)
      }
    },
  }
}

/** Resolves when the server has read all that was sent. */
async function heard({ socket }: GatewayClient): Promise<void> {
  socket.ping()
  await once(socket, 'pong')
}

async function typed(): Promise<string | undefined> {
  const answer = await server.api.call('GET', path('files/content?path=typed.txt'))
  return answer.status === 200 ? answer.body.content : undefined
}

async function typing(text: string): Promise<void> {
  let last: string | undefined
  await eventually(`${JSON.stringify(text)} is typed`, async () => {
    last = await typed()
    return last === text
  }).catch((error: Error) => assert.fail(`${error.message}; it is ${JSON.stringify(last)}`))
}
