import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request as sendRequest, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket, type ClientOptions } from 'ws'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * A web server in a real machine, reached at its hostname over TLS by a client that trusts the local
 * authority. The tests share one server and one machine, so each builds on those before it.
 */

let server: RealServer
let machine = ''
let authority = ''
let port = 0
let preview: { id: string; url: string; secret: string }

before(async () => {
  server = await joinServer()
  machine = (await server.api.ok('POST', '/v1/machines', {})).id
  authority = await readFile(join(server.dataDir, 'previews', 'authority.crt'), 'utf8')
})
after(() => server?.[Symbol.asyncDispose]())

test('nothing has to listen yet; what listens then is reached over TLS at its hostname', async () => {
  preview = await server.api.ok('POST', `/v1/machines/${machine}/ports`, { port: 8000 })
  port = Number(new URL(preview.url).port)
  assert.match(preview.url, /^https:\/\/[0-9a-z]{26}\.localhost:\d+$/)
  // The agent inside answers a moment after the machine runs.
  await eventually(
    'the machine answers that nothing listens',
    async () => (await ask('/')).status === 502,
  )
  await server.api.ok('PUT', `/v1/machines/${machine}/files/content`, {
    path: '/home/agent/web.py',
    content: webServer,
  })
  await server.api.launch(machine, 'python3 /home/agent/web.py')
  await eventually('the web server answers', async () => (await ask('/hello')).status === 200)
  const { text, headers } = await ask('/hello')
  assert.equal(text, 'hello from the machine')
  assert.equal(headers['x-host'], new URL(preview.url).host)
  assert.equal((await ask('/hello', { headers: { 'x-preview-secret': '' } })).status, 401)
})

test('200 MB go up and come down whole, and the gateway holds little of it', async () => {
  const memoryBefore = await readGatewayMemory('VmRSS')
  const size = 200 * 1024 * 1024
  const block = Buffer.alloc(1024 * 1024, 'abcdefgh')
  const expected = createHash('sha256')
  for (let at = 0; at < size; at += block.length) expected.update(block)
  const sum = expected.digest('hex')

  const upload = open('/upload', { method: 'POST', headers: { 'content-length': size } })
  for (let at = 0; at < size; at += block.length) {
    if (!upload.write(block)) await once(upload, 'drain')
  }
  upload.end()
  const [answer] = (await once(upload, 'response')) as [IncomingMessage]
  assert.equal(await textOf(answer), sum)

  const [download] = (await once(open('/download').end(), 'response')) as [IncomingMessage]
  const hash = createHash('sha256')
  for await (const chunk of download) hash.update(chunk as Buffer)
  assert.equal(hash.digest('hex'), sum)
  const grown = (await readGatewayMemory('VmHWM')) - memoryBefore
  assert.ok(grown < 128, `it took ${grown} MB more at its highest`)
})

test('events come as they are sent', async () => {
  const request = open('/events').end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  events.setEncoding('utf8')
  for (const number of [0, 1, 2]) {
    const [event] = (await once(events, 'data')) as [string]
    assert.equal(event, `data: ${number}\n\n`)
  }
  request.destroy()
})

test('unpublishing cuts an open WebSocket; the port gets another hostname', async () => {
  const socket = await openSocket()
  const ended = once(socket, 'close')
  await server.api.ok('DELETE', `/v1/machines/${machine}/ports/${preview.id}`)
  await ended
  assert.equal((await ask('/hello')).status, 404)
  const before = preview.url
  preview = await server.api.ok('POST', `/v1/machines/${machine}/ports`, { port: 8000 })
  assert.notEqual(preview.url, before)
  assert.equal((await ask('/hello')).status, 200)
})

test('a stopped machine answers 503, and works again under the same hostname', async () => {
  await server.api.ok('POST', `/v1/machines/${machine}/stop?wait=60`)
  assert.equal((await ask('/hello')).status, 503)
  await server.api.ok('POST', `/v1/machines/${machine}/start?wait=60`)
  await eventually('the machine answers', async () => (await ask('/hello')).status === 502)
  await server.api.launch(machine, 'python3 /home/agent/web.py')
  await eventually('the web server answers', async () => (await ask('/hello')).status === 200)
})

test('it outlives the gateway', async () => {
  await server.kill('gateway')
  await eventually('the gateway is back', async () =>
    ask('/hello').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  const { text } = await ask('/hello')
  assert.equal(text, 'hello from the machine')
})

/** In megabytes, now or at its highest. */
async function readGatewayMemory(what: 'VmRSS' | 'VmHWM'): Promise<number> {
  const record = await readFile(join(server.dataDir, 'run', 'gateway.pid'), 'utf8')
  const status = await readFile(
    `/proc/${(JSON.parse(record) as { pid: number }).pid}/status`,
    'utf8',
  )
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? NaN) / 1024
}

/** By the secret, unless the test says otherwise. */
function open(path: string, wish: RequestOptions = {}) {
  const { host, hostname } = new URL(preview.url)
  const headers = { host, 'x-preview-secret': preview.secret, ...wish.headers }
  const where = { host: '127.0.0.1', servername: hostname, port, path, agent: false as const }
  return sendRequest({ ...where, ...wish, headers, ca: authority })
}

async function ask(path: string, wish: RequestOptions = {}) {
  const [answer] = (await once(open(path, wish).end(), 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, text: await textOf(answer) }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return text
}

async function openSocket(): Promise<WebSocket> {
  const { host, hostname } = new URL(preview.url)
  const options: ClientOptions & { readonly servername: string } = {
    ca: authority,
    servername: hostname,
    perMessageDeflate: false,
    headers: { host, authorization: `Bearer ${preview.secret}` },
  }
  const socket = new WebSocket(`wss://127.0.0.1:${port}/socket`, [], options)
  await once(socket, 'open')
  socket.send('echo')
  const [message] = (await once(socket, 'message')) as [Buffer]
  assert.equal(message.toString(), 'echo')
  return socket
}

/** What Python has by itself: an answer, an upload, a download, events and a WebSocket that echoes. */
const webServer = `
import base64, hashlib, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def answer(self, body):
        self.send_response(200)
        self.send_header('content-length', str(len(body)))
        self.send_header('x-host', self.headers['host'])
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == '/socket':
            return self.echo()
        if self.path == '/download':
            self.send_response(200)
            self.send_header('content-length', str(200 * 1024 * 1024))
            self.end_headers()
            for _ in range(200):
                self.wfile.write(b'abcdefgh' * 131072)
            return
        if self.path == '/events':
            self.send_response(200)
            self.send_header('content-type', 'text/event-stream')
            self.send_header('connection', 'close')
            self.end_headers()
            for number in range(1000):
                self.wfile.write(b'data: %d\\n\\n' % number)
                self.wfile.flush()
                time.sleep(0.3)
            return
        self.answer(b'hello from the machine')

    def do_POST(self):
        left, digest = int(self.headers['content-length']), hashlib.sha256()
        while left:
            chunk = self.rfile.read(min(left, 1 << 20))
            digest.update(chunk)
            left -= len(chunk)
        self.answer(digest.hexdigest().encode())

    def echo(self):
        key = self.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        self.send_response(101)
        self.send_header('upgrade', 'websocket')
        self.send_header('connection', 'Upgrade')
        self.send_header('sec-websocket-accept', base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return
            mask, body = self.rfile.read(4), self.rfile.read(head[1] & 127)
            text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(body))
            self.wfile.write(bytes([head[0], len(text)]) + text)

    def log_message(self, *arguments):
        pass

ThreadingHTTPServer(('127.0.0.1', 8000), Handler).serve_forever()
`
