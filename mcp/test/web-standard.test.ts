import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { serveHttp } from '../src/http.ts'
import { connectOverHttp } from './client.ts'
import { eventually } from './eventually.ts'

const { baseUrl, key } = await startServer({ after })
const mcp = await serveHttp({ baseUrl, port: 0 })
after(() => mcp[Symbol.asyncDispose]())
const authorization = `Bearer ${key}`

test('an event stream opens before its first event and closes with its client', async (t) => {
  const { transport, client } = await connectOverHttp(t, mcp.url, key)
  const headers = {
    authorization,
    accept: 'text/event-stream',
    'mcp-session-id': transport.sessionId!,
  }
  const listen = (signal: AbortSignal) => fetch(mcp.url, { headers, signal })
  // Closes the client's own stream; the session stays.
  await client.close()
  const leaving = new AbortController()
  await eventually('the stream is free', async () => {
    return (await listen(leaving.signal)).status === 200
  })
  assert.equal((await listen(AbortSignal.timeout(60_000))).status, 409)
  leaving.abort()
  const staying = new AbortController()
  t.after(() => staying.abort())
  await eventually('the stream is free again', async () => {
    return (await listen(staying.signal)).status === 200
  })
})

test('a body that is too long is refused, and the client receives the response', async () => {
  const sent = request(mcp.url, { method: 'POST', headers: { authorization } })
  sent.on('error', () => {})
  sent.write(Buffer.alloc(4 * 1024 * 1024 + 1, 'x'))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 413)
  sent.destroy()
})

test('other methods are refused, and the response lists the allowed ones', async () => {
  for (const method of ['PUT', 'TRACE', 'HEAD']) {
    const sent = request(mcp.url, { method, headers: { authorization } }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'GET, POST, DELETE'], method)
  }
})
