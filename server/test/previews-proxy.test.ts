import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as sendRequest, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { startTestPreviews } from './preview-server.ts'

/* The data that is forwarded between a client and a port inside a machine. */

const { publish, listen, accept, ask, connect, port, server } = await startTestPreviews({ after })

test('a request arrives as it was sent, and so does its response', async () => {
  const { host } = await publish({ port: 80, access: 'public' })
  listen((request, response) => {
    response.writeHead(207, { 'x-method': request.method!, 'x-path': request.url! })
    request.pipe(response)
  })
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'GET' ? '' : `body of ${method}`
    const answer = await ask(host, '/a/b%20c?d=e&f', { method, body })
    assert.deepEqual([answer.status, answer.text], [207, body])
    assert.equal(answer.headers['x-method'], method)
    assert.equal(answer.headers['x-path'], '/a/b%20c?d=e&f')
  }
  const head = await ask(host, '/', { method: 'HEAD' })
  assert.deepEqual([head.status, head.text], [207, ''])
})

test('only the proxy sets the headers about the origin of a request', async () => {
  const { host } = await publish({ port: 81, access: 'public' })
  let seen: IncomingMessage['headersDistinct'] = {}
  listen((request, response) => response.end(void (seen = request.headersDistinct)), { port: 81 })
  await ask(host, '/', {
    headers: {
      'x-forwarded-for': '203.0.113.9, 198.51.100.7, 127.0.0.1',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      'X-Forwarded-Port': '1',
      x_forwarded_for: '203.0.113.1',
      'x-real-ip': '203.0.113.2',
      forwarded: 'for=203.0.113.3',
      connection: 'keep-alive, x-secret-hop',
      'x-secret-hop': 'yes',
      'keep-alive': 'timeout=99',
      te: 'trailers',
      'proxy-authorization': 'Basic x',
      'x-kept': ['one', 'two'],
    },
  })
  // The test is a trusted proxy here, so its x-forwarded-for counts.
  assert.deepEqual(seen['x-forwarded-for'], ['198.51.100.7'])
  assert.deepEqual(seen['x-forwarded-host'], [host])
  assert.deepEqual(seen['x-forwarded-proto'], ['https'])
  assert.deepEqual(seen['host'], [host])
  assert.deepEqual(seen['x-kept'], ['one', 'two'])
  const hidden = ['x-forwarded-port', 'x_forwarded_for', 'x-real-ip', 'forwarded', 'x-secret-hop']
  for (const name of [...hidden, 'keep-alive', 'te', 'proxy-authorization']) {
    assert.equal(seen[name], undefined, name)
  }
})

test('cookies and credentials of the service are not forwarded to guests; others are', async () => {
  const { host, secret } = await publish({ port: 82 })
  let seen: IncomingMessage['headersDistinct'] = {}
  listen((request, response) => response.end(void (seen = request.headersDistinct)), { port: 82 })
  const cookie =
    'a=1; computer_session=computer_session_x; __Host-computer_session=x; b=2; __Host-computer_preview=x;__Host-computer_preview_browser=y'
  const visit = async (headers: Record<string, string>) => {
    seen = {}
    const { status } = await ask(host, '/', { headers: { cookie, ...headers } })
    assert.equal(status, 200)
  }
  await visit({ authorization: `Bearer ${secret}` })
  assert.deepEqual([seen['authorization'], seen['cookie']], [undefined, ['a=1; b=2']])
  await visit({ authorization: 'Basic of the guest', 'x-preview-secret': secret! })
  assert.deepEqual(seen['authorization'], ['Basic of the guest'])
  assert.equal(seen['x-preview-secret'], undefined)
  for (const token of [server.key, `computer_session_${'x'.repeat(43)}`]) {
    await visit({ authorization: `bearer ${token}`, 'x-preview-secret': secret! })
    assert.equal(seen['authorization'], undefined)
  }
  await visit({ cookie: 'computer_session=x', 'x-preview-secret': secret! })
  assert.equal(seen['cookie'], undefined)
})

test('previews can neither set nor read cookies of each other, nor plant those of the service', async () => {
  const { host } = await publish({ port: 83, access: 'public' })
  listen(
    (_request, response) => {
      const headers: [string, string][] = [
        ['set-cookie', 'a=1; Domain=preview.test; Path=/'],
        ['set-cookie', 'b=2; domain = .preview.test;Secure'],
        ['set-cookie', 'c=domain=kept; DOMAIN; HttpOnly'],
        ['Set-Cookie', 'd=4'],
        ['set-cookie', 'computer_session=x; Domain=test'],
        ['set-cookie', '__Host-computer_session=x; Secure; Path=/'],
        ['set-cookie', ' __Host-computer_preview=x; Secure; Path=/'],
        ['set-cookie', '__HOST-computer_preview_browser=x'],
        ['clear-site-data', '"cookies"'],
        ['alt-svc', 'h2="evil.example:443"'],
        ['connection', 'x-hop'],
        ['x-hop', '1'],
      ]
      response.writeHead(200, headers.flat())
      response.end()
    },
    { port: 83 },
  )
  const { headers } = await ask(host)
  assert.deepEqual(headers['set-cookie'], [
    'a=1; Path=/',
    'b=2;Secure',
    'c=domain=kept; HttpOnly',
    'd=4',
  ])
  for (const name of ['clear-site-data', 'alt-svc', 'x-hop']) assert.equal(headers[name], undefined)
})

test('responses of any framing arrive complete, and truncated ones are truncated for the client', async () => {
  const { host } = await publish({ port: 84, access: 'public' })
  const bytes = 'x'.repeat(300_000)
  const answers: Record<string, string> = {
    '/length': `HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n${bytes}`,
    '/chunked': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`,
    '/close': `HTTP/1.0 200 OK\r\n\r\n${bytes}`,
    '/none': 'HTTP/1.1 204 No Content\r\n\r\n',
    '/unchanged': 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
    '/hint':
      'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
    '/short': `HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length + 1}\r\n\r\n${bytes}`,
    '/nonsense': 'gopher\r\n\r\n',
    '/long': `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    '/both':
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    '/switch':
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
  }
  accept(84, (connection) => {
    connection.once('data', (chunk: Buffer) => {
      const path = chunk.toString('latin1').split(' ')[1]!
      connection.end(answers[path], 'latin1')
    })
  })
  for (const path of ['/length', '/chunked', '/close']) {
    const { status, text } = await ask(host, path)
    assert.deepEqual([status, text.length], [200, bytes.length], path)
  }
  assert.equal((await ask(host, '/none')).status, 204)
  const unchanged = await ask(host, '/unchanged')
  assert.deepEqual([unchanged.status, unchanged.headers['etag']], [304, '"a"'])
  assert.equal((await ask(host, '/hint')).status, 200)
  await assert.rejects(ask(host, '/short'))
  for (const path of ['/nonsense', '/long', '/switch']) {
    const { status, text } = await ask(host, path)
    assert.equal(status, 502, path)
    assert.match(text, /^<!doctype html>/)
  }
  assert.ok([200, 502].includes((await ask(host, '/both')).status))
})

test('server-sent events arrive one by one', async () => {
  const { host } = await publish({ port: 85, access: 'public' })
  const { promise: arrived, resolve } = Promise.withResolvers<(event: string) => void>()
  listen(
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      resolve((event) => void response.write(`data: ${event}\n\n`))
    },
    { port: 85 },
  )
  const socket = await connect()
  socket.setEncoding('utf8').write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  const [head] = await once(socket, 'data')
  assert.match(String(head), /^HTTP\/1\.1 200 OK\r\n/)
  const send = await arrived
  for (const event of ['one', 'two', 'three']) {
    send(event)
    assert.match(String((await once(socket, 'data'))[0]), new RegExp(`data: ${event}\n\n`))
  }
  socket.destroy()
})

test('large uploads and downloads arrive complete', async () => {
  const { host } = await publish({ port: 86, access: 'public' })
  const size = 32 * 1024 * 1024
  const block = Buffer.alloc(1024 * 1024, 'abcdefgh')
  const expected = createHash('sha256')
  for (let at = 0; at < size; at += block.length) expected.update(block)
  const sum = expected.digest('hex')
  listen(
    (request, response) => {
      if (request.method === 'POST') {
        const hash = createHash('sha256')
        request.on('data', (chunk: Buffer) => hash.update(chunk))
        request.on('end', () => response.end(hash.digest('hex')))
        return
      }
      let sent = 0
      const send = () => {
        while (sent < size) {
          sent += block.length
          if (!response.write(block)) return void response.once('drain', send)
        }
        response.end()
      }
      send()
    },
    { port: 86 },
  )
  const url = `http://127.0.0.1:${port}/`
  const upload = sendRequest(url, { method: 'POST', headers: { host } })
  for (let at = 0; at < size; at += block.length) {
    if (!upload.write(block)) await once(upload, 'drain')
  }
  upload.end()
  const [answer] = (await once(upload, 'response')) as [IncomingMessage]
  let received = ''
  for await (const chunk of answer) received += String(chunk)
  assert.equal(received, sum)

  const hash = createHash('sha256')
  const [body] = (await once(sendRequest(url, { headers: { host } }).end(), 'response')) as [
    IncomingMessage,
  ]
  for await (const chunk of body) hash.update(chunk as Buffer)
  assert.equal(hash.digest('hex'), sum)
})
