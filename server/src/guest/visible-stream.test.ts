import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { limitWork } from './work-budget.ts'
import { VisibleStream } from './visible-stream.ts'

/** A stream over TCP, and the socket of the other side. */
async function openPair(
  t: TestContext,
): Promise<{ stream: VisibleStream; socket: Socket; peer: Socket }> {
  const server: Server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = await accepted
  peer.on('error', () => {})
  const stream = new VisibleStream(socket)
  stream.on('error', () => {})
  t.after(() => {
    stream.destroy()
    peer.destroy()
    server.close()
  })
  return { stream, socket, peer }
}

test('bytes arrive in both directions, in order and whole, whatever the reader does', async (t) => {
  const { stream, peer } = await openPair(t)
  const sent = Buffer.alloc(3_000_000, 'abcdefg')
  peer.write(sent)
  peer.end()
  const received: Buffer[] = []
  stream.on('data', (data: Buffer) => {
    received.push(data)
    stream.pause()
    setImmediate(() => stream.resume())
  })
  const echoed: Buffer[] = []
  peer.on('data', (data: Buffer) => echoed.push(data))
  for (let at = 0; at < sent.length; at += 100_000) stream.write(sent.subarray(at, at + 100_000))
  stream.end()
  await Promise.all([once(stream, 'end'), once(peer, 'end')])
  assert.ok(Buffer.concat(received).equals(sent))
  assert.ok(Buffer.concat(echoed).equals(sent))
})

test('it ends with its socket, and destroys it', async (t) => {
  const { stream, peer } = await openPair(t)
  stream.resume()
  peer.destroy()
  await once(stream, 'close')
  const third = await openPair(t)
  third.stream.resume()
  third.socket.destroy()
  await once(third.stream, 'close')
  const other = await openPair(t)
  other.stream.destroy()
  await once(other.peer.resume(), 'end')
})

test('a reader that does not keep up holds the sender back', async (t) => {
  const { stream, peer } = await openPair(t)
  stream.pause()
  const block = Buffer.alloc(1024 * 1024)
  let written = 0
  while (written < 64 && peer.write(block)) written += 1
  const drained = await Promise.race([
    once(peer, 'drain').then(() => true),
    new Promise<boolean>((resolve) => setTimeout(resolve, 300, false)),
  ])
  assert.equal(drained && written === 64, false)
})

test('the work that the bytes of a socket make for HTTP/2 is measured', async (t) => {
  const { stream, peer } = await openPair(t)
  let nowMs = 0
  const work = limitWork(stream, () => (nowMs += 1_000))
  const session = connectHttp2('http://guest', { createConnection: () => stream })
  session.on('error', () => {})
  work.measure()
  t.after(() => session.destroy())
  // An empty SETTINGS frame. By that clock it takes a second.
  peer.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
  await once(stream, 'pause')
  assert.ok(stream.isPaused())
})
