import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { startTestPreviews } from './preview-server.ts'

/* Connections to ports inside machines: upgrades, reuse and failures. */

const { publish, listen, accept, ask, raw, connect, port, server, machine } =
  await startTestPreviews({ after })

test('WebSockets pass in both directions, with their subprotocol, and end together', async () => {
  const { host, secret } = await publish({ port: 87 })
  const sockets = new WebSocketServer({ noServer: true })
  listen(() => {}, { port: 87 }).on('upgrade', (request, socket, head) => {
    if (request.url === '/refused') {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno')
      return
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }))
      client.on('close', () => {})
    })
  })
  const open = (path: string, headers: Record<string, string>) =>
    new WebSocket(`ws://127.0.0.1:${port}${path}`, ['chat'], { headers: { host, ...headers } })

  const client = open('/chat', { authorization: `Bearer ${secret}` })
  await once(client, 'open')
  assert.equal(client.protocol, 'chat')
  const big = Buffer.alloc(1_000_000, 7)
  for (const message of ['héllo', big]) {
    client.send(message)
    const [data] = (await once(client, 'message')) as [Buffer]
    assert.deepEqual(data, Buffer.from(message))
  }
  client.close()
  await once(client, 'close')

  const refused = open('/refused', { authorization: `Bearer ${secret}` })
  const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage]
  assert.equal(answer.statusCode, 403)
  refused.on('error', () => {}).terminate()

  const stranger = open('/chat', {})
  const [, unauthorized] = (await once(stranger, 'unexpected-response')) as [
    unknown,
    IncomingMessage,
  ]
  assert.equal(unauthorized.statusCode, 401)
  stranger.on('error', () => {}).terminate()
})

test('other upgrades are not forwarded to the guest', async () => {
  const { host } = await publish({ port: 88, access: 'public' })
  let upgrade: string | undefined = 'nothing came'
  listen((request, response) => response.end(void (upgrade = request.headers.upgrade)), {
    port: 88,
  })
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AA' }
  assert.equal((await ask(host, '/', { headers })).status, 200)
  assert.equal(upgrade, undefined)
})

test('an idle connection is reused; one that has just closed fails no request', async () => {
  const { host } = await publish({ port: 89, access: 'public' })
  const { ports } = server.guest(machine.id)
  listen((_request, response) => response.end('here'), { port: 89 })
  await ask(host)
  const before = ports.connections
  for (let round = 0; round < 10; round++) assert.equal((await ask(host)).text, 'here')
  // The first connection may not be back in the pool yet.
  assert.ok(ports.connections <= before + 1)

  const other = await publish({ port: 93, access: 'public' })
  // The server announces keep-alive, responds once, and closes on the second request.
  accept(93, (connection) => {
    connection.once('data', () => {
      connection.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nonce')
      connection.once('data', () => connection.destroy())
    })
  })
  for (let round = 0; round < 3; round++) assert.equal((await ask(other.host)).text, 'once')
})

test('requests that are not idempotent are not retried', async () => {
  const { host } = await publish({ port: 94, access: 'public' })
  let posts = 0
  accept(94, (connection) => {
    connection.once('data', () => {
      connection.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nonce')
      connection.once('data', (chunk: Buffer) => {
        if (chunk.toString().startsWith('POST')) posts += 1
        connection.destroy()
      })
    })
  })
  for (let round = 0; round < 3; round++) {
    assert.equal((await ask(host)).text, 'once')
    assert.equal((await ask(host, '/', { method: 'POST' })).text, 'once')
  }
  assert.equal(posts, 0)
})

test('an upload that is answered early does not block the next request', async () => {
  const { host } = await publish({ port: 92, access: 'public' })
  accept(92, (connection) => {
    connection.once('data', () => {
      connection.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    })
  })
  const socket = await connect()
  const body = 'x'.repeat(2_000_000)
  socket.write(`POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n\r\n`)
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 413/)
  socket.write(`${body}GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 413/)
  socket.destroy()
})

test('a closed port is 502, a stopped machine 503 until it runs again at the same hostname', async () => {
  const { id } = await server.machine()
  const { host } = await publish({ port: 90, access: 'public' }, id)
  assert.equal((await ask(host)).status, 502)
  assert.equal((await ask(host, '/', { method: 'POST', body: 'x' })).status, 502)
  const handshake = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x' }
  assert.equal((await ask(host, '/', { headers: handshake })).status, 502)
  listen((_request, response) => response.end('up'), { port: 90, id })
  assert.equal((await ask(host)).text, 'up')
  await server.call('POST', `/v1/machines/${id}/stop?wait=30`, {})
  const stopped = await ask(host)
  assert.equal(stopped.status, 503)
  assert.match(stopped.text, /not running/)
  await server.call('POST', `/v1/machines/${id}/start?wait=30`, {})
  listen((_request, response) => response.end('again'), { port: 90, id })
  assert.equal((await ask(host)).text, 'again')
})

test('error pages name no machine, and are the same for unknown and unpublished hosts', async () => {
  const { host } = await publish({ port: 91, access: 'public' })
  const never = await raw(
    `GET / HTTP/1.1\r\nhost: ${'0'.repeat(26)}.preview.test\r\nconnection: close\r\n\r\n`,
  )
  const elsewhere = await raw('GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')
  const nothing = await ask(host)
  for (const text of [never, nothing.text]) {
    assert.doesNotMatch(text, /mch_|org_|prv_|127\.0|localhost|91/)
  }
  const undated = (text: string) => text.replace(/date: [^\r]*/i, '')
  assert.match(never, /^HTTP\/1\.1 404 /)
  assert.equal(undated(never), undated(elsewhere))
})
