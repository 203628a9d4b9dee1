import { GuestPortQuery } from '@computer/contract/guest-streams'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { portRoutes } from '../src/ports/routes.ts'
import { createAgentServer } from '../src/server.ts'

const agent = createAgentServer(new Map([['POST /port', portRoutes().port]]))
agent.listen(0, '127.0.0.1')
await once(agent, 'listening')
const session: ClientHttp2Session = connect(
  `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
)
after(() => {
  session.destroy()
  agent.close()
})

test('bytes are copied both ways, and each direction ends on its own', async (t) => {
  const port = await listen(t, '127.0.0.1', (socket) => socket.pipe(socket))
  const { stream, status } = await open(String(port))
  assert.equal(status, 200)
  const sent = Buffer.alloc(3_000_000, 'abc')
  stream.end(sent)
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  assert.ok(Buffer.concat(chunks).equals(sent))
})

test('a server that listens only on ::1 is found', async (t) => {
  const port = await listen(t, '::1', (socket) => socket.end('six'))
  const { stream } = await open(String(port))
  assert.equal(String((await once(stream, 'data'))[0]), 'six')
  stream.close()
})

test('a port without a listener is refused with the reason', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const { stream, status } = await open(String(port))
  const body = JSON.parse(String((await once(stream, 'data'))[0]))
  assert.deepEqual([status, body.error.code], [412, 'precondition_failed'])
  t.diagnostic(body.error.message)
})

test('a port has one spelling', async () => {
  const wrong = [
    '',
    '0',
    '080',
    '+80',
    '-1',
    '80 ',
    ' 80',
    '8e1',
    '0x50',
    '65536',
    '99999',
    '80.0',
    'http',
    '８０',
    '127.0.0.1:80',
  ]
  for (const port of wrong) {
    assert.equal(GuestPortQuery.safeParse({ port }).success, false, port)
    const { stream, status } = await open(encodeURIComponent(port))
    stream.close()
    assert.equal(status, 400, port)
  }
  assert.equal((await open('80&host=10.0.0.1')).status, 400)
})

test('a broken connection does not end cleanly, and it closes when the caller goes away', async (t) => {
  const sockets: Socket[] = []
  const port = await listen(t, '127.0.0.1', (socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
    socket.on('end', () => socket.end()).resume()
    socket.write('half')
  })
  const { stream } = await open(String(port))
  stream.on('error', () => {})
  await once(stream, 'data')
  sockets[0]!.resetAndDestroy()
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
  assert.notEqual(stream.rstCode, 0)

  const other = await open(String(port))
  await once(other.stream, 'data')
  const ended = once(sockets[1]!, 'close')
  other.stream.on('error', () => {}).destroy()
  await ended
})

async function open(port: string): Promise<{ stream: ClientHttp2Stream; status: number }> {
  const stream = session.request({ ':method': 'POST', ':path': `/port?port=${port}` })
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }]
  return { stream, status: headers[':status'] }
}

type Test = { after(end: () => void): void }

async function listen(t: Test, host: string, accept: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, accept).listen(0, host)
  await once(server, 'listening')
  t.after(() => void server.close())
  return (server.address() as AddressInfo).port
}
