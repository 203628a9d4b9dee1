import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { serveHttp } from '../src/http.ts'
import { connectOverHttp } from './client.ts'
import { eventually } from './eventually.ts'

const server = await startServer({ after })
const { baseUrl, key } = server
const mcp = await serveHttp({ baseUrl, port: 0 })
after(() => mcp[Symbol.asyncDispose]())

test('a missing or invalid key is refused', async () => {
  const without = await post(mcp.url, {}, initialize)
  assert.equal(without.status, 401)
  assert.equal(without.headers['www-authenticate'], 'Bearer')
  const wrong = await post(mcp.url, { authorization: 'Bearer ck_wrong' }, initialize)
  assert.deepEqual([wrong.status, wrong.message], [401, 'invalid API key'])
  assert.equal(wrong.headers['mcp-session-id'], undefined)
})

test("the server's own key is never used for a client", async (t) => {
  process.env['COMPUTER_API_KEY'] = key
  t.after(() => delete process.env['COMPUTER_API_KEY'])
  assert.equal((await post(mcp.url, {}, initialize)).status, 401)
  assert.equal((await post(mcp.url, { authorization: 'Bearer ck_wrong' }, initialize)).status, 401)
})

test('each client acts with its own key', async (t) => {
  const reader = await server.apiKey({ name: 'Reader', scopes: ['machines:read'] })
  const one = await connectOverHttp(t, mcp.url, key)
  const other = await connectOverHttp(t, mcp.url, reader.secret)
  await one.ok('create_machine', { name: 'mine' })
  const deletion = other.call('delete_machine', { machine: 'mine' })
  await assert.rejects(deletion, { code: -32602, message: /delete_machine not found/ })
  assert.match(await other.ok('list_machines'), /mine/)
})

test('a session is served only with the key that opened it', async (t) => {
  const stranger = await server.apiKey({ name: 'Stranger' })
  const { transport } = await connectOverHttp(t, mcp.url, key)
  const headers = { ...accepted, 'mcp-session-id': transport.sessionId! }
  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const call = (secret: string) =>
    post(mcp.url, { ...headers, authorization: `Bearer ${secret}` }, listing)
  assert.equal((await call(stranger.secret)).status, 404)
  assert.equal((await call(key)).status, 200)
})

test('requests from web pages are refused, under any host name', async () => {
  const authorization = `Bearer ${key}`
  const asked = async (headers: Record<string, string>) =>
    (await post(mcp.url, { authorization, ...headers }, initialize)).status
  assert.equal(await asked({ host: 'attacker.example' }), 403)
  assert.equal(await asked({ host: 'localhost.attacker.example:7090' }), 403)
  assert.equal(await asked({ origin: 'https://attacker.example' }), 403)
  assert.equal(await asked({ origin: 'null' }), 403)
  assert.equal(await asked({ host: 'localhost:1' }), 200)
})

test('an allowed host name is served', async (t) => {
  const named = await serveHttp({ baseUrl, port: 0, allowedHosts: ['mcp.example'] })
  t.after(() => named[Symbol.asyncDispose]())
  const headers = { authorization: `Bearer ${key}`, host: 'mcp.example' }
  assert.equal((await post(named.url, headers, initialize)).status, 200)
})

test('only an initialization opens a session', async (t) => {
  const small = await serveHttp({ baseUrl, port: 0, maxSessions: 1 })
  t.after(() => small[Symbol.asyncDispose]())
  const headers = { ...accepted, authorization: `Bearer ${key}` }
  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  assert.equal((await post(small.url, headers, listing)).status, 400)
  assert.equal((await post(small.url, headers, initialize)).status, 200)
})

test('the number of sessions is limited, and closing one makes room', async (t) => {
  const small = await serveHttp({ baseUrl, port: 0, maxSessions: 1 })
  t.after(() => small[Symbol.asyncDispose]())
  const { transport } = await connectOverHttp(t, small.url, key)
  const refused = await post(small.url, { authorization: `Bearer ${key}` }, initialize)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '30'])
  await transport.terminateSession()
  await connectOverHttp(t, small.url, key)
})

test('an idle session is closed', async (t) => {
  const hasty = await serveHttp({ baseUrl, port: 0, idleMs: 20, maxSessions: 1 })
  t.after(() => hasty[Symbol.asyncDispose]())
  const authorization = `Bearer ${key}`
  const opened = await post(hasty.url, { authorization }, initialize)
  const id = opened.headers['mcp-session-id'] as string
  assert.ok(id)
  // A request would keep the session alive, so detect its end by the room for another.
  await eventually('there is room for another session', async () => {
    return (await post(hasty.url, { authorization }, initialize)).status === 200
  })
  const headers = { ...accepted, authorization, 'mcp-session-id': id }
  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  assert.equal((await post(hasty.url, headers, listing)).status, 404)
})

test('an unreachable Computer server is reported as 502', async (t) => {
  const lost = await serveHttp({ baseUrl: 'http://127.0.0.1:1', port: 0 })
  t.after(() => lost[Symbol.asyncDispose]())
  assert.equal((await post(lost.url, { authorization: `Bearer ${key}` }, initialize)).status, 502)
})

const accepted = { accept: 'application/json, text/event-stream' }
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}

/** Sends a request with headers that fetch does not allow. */
async function post(url: string, headers: Record<string, string>, body: unknown) {
  const type = { 'content-type': 'application/json' }
  const sent = request(url, { method: 'POST', headers: { ...accepted, ...type, ...headers } })
  sent.end(JSON.stringify(body))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8')) text += piece
  const isJson = answer.headers['content-type'] === 'application/json'
  const refusal = isJson ? (JSON.parse(text) as { error?: { message: string } }) : {}
  const { statusCode: status, headers: answered } = answer
  return { status, headers: answered, message: refusal.error?.message }
}
