import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as netConnect, createServer, type AddressInfo } from 'node:net'
import { Duplex, PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { DriverError } from '../src/drivers/machine-driver.ts'
import { createRemotePeer } from '../src/peers/client.ts'
import { encodeToken, requestToJoin } from '../src/peers/join.ts'
import { listenForPeers } from '../src/peers/listener.ts'
import type { Peer } from '../src/peers/peer.ts'
import { requestPeer } from './peer-request.ts'
import { eventually } from './settled.ts'

/* The way from a process to the machines of another host. */

const ref = { id: 'mch_0000000000000000000001' as MachineId, generation: 3 }
const token = 'a-token'
const admission = { host: 'host-2', databaseUrl: 'postgres://db', keyring: 'keys' }
const captureId = 'cap_00000000000000000001' as const
const first = { imageId: 'img_00000000000000000001', base: null } as const
const later = { ...first, base: 'cap_00000000000000000000' } as const

test('a stream to an agent carries bytes both ways, and ends with either end', async (t) => {
  const { remote, agents } = await start(t)
  const stream = await remote.connect(ref)
  stream.write('ping')
  assert.equal(String(await new Promise((resolve) => stream.once('data', resolve))), 'ping')
  stream.end()
  assert.equal(await text(stream), '')

  const second = await remote.connect(ref)
  const closed = new Promise((resolve) => second.once('close', resolve))
  second.on('error', () => {})
  agents[1]!.destroy()
  await closed

  const third = await remote.connect(ref)
  const ended = new Promise((resolve) => agents[2]!.once('close', resolve))
  third.destroy()
  await ended
})

test('a stream to an agent that hangs up leaves no socket', async (t) => {
  const { remote, answerWith } = await start(t)
  const agents = createServer((socket) => socket.once('data', () => socket.end('over')))
  await once(agents.listen(0, '127.0.0.1'), 'listening')
  t.after(() => agents.close())
  const { port } = agents.address() as AddressInfo
  answerWith(() => netConnect(port, '127.0.0.1'))
  const before = countSockets()
  const stream = await remote.connect(ref)
  stream.write('hello')
  stream.once('end', () => {
    stream.write('late')
    stream.destroy()
  })
  stream.resume()
  await once(stream, 'close')
  await eventually(async () => countSockets() === before || undefined)
})

test('a stream to an agent that never ends leaves no socket', async (t) => {
  const { remote, answerWith } = await start(t, { endingMs: 50 })
  for (const end of ['end', 'destroy'] as const) {
    const agent = new Duplex({ read() {}, write() {}, final() {} })
    answerWith(() => agent)
    const before = countSockets()
    const stream = await remote.connect(ref)
    stream.on('error', () => {})
    stream.write('unread')
    stream[end]()
    await eventually(async () => agent.destroyed || undefined)
    stream.destroy()
    await eventually(async () => countSockets() === before || undefined)
  }
})

test('a stream that is refused leaves no socket, even if its client stays', async (t) => {
  const { listener, remote, fail } = await start(t)
  const before = countSockets()
  fail(new DriverError('the machine is not running', { retryable: true }))
  await assert.rejects(remote.connect(ref))
  await assert.rejects(createRemotePeer({ ...listener, token: 'another' }).connect(ref))
  await eventually(async () => countSockets() === before || undefined)

  const options = { port: listener.port, ca: listener.certificate, allowHalfOpen: true }
  const stranger = tlsConnect({ ...options, checkServerIdentity: () => undefined })
  t.after(() => stranger.destroy())
  stranger.write(
    `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: computer-agent\r\n\r\n`,
  )
  assert.match(await text(stranger), /^HTTP\/1\.1 401 /)
  await eventually(async () => countSockets() === before + 1 || undefined)
})

test('a large stream arrives whole, and waits for its reader', async (t) => {
  const { remote } = await start(t)
  const stream = await remote.connect(ref)
  const bytes = Buffer.alloc(8 * 1024 * 1024, 'abcdefg')
  stream.end(bytes)
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  assert.ok(Buffer.concat(chunks).equals(bytes))
})

test('failures of the engine arrive as what they are', async (t) => {
  const { remote, fail } = await start(t)
  assert.equal(await remote.measureDisk(ref), 1234)
  fail(new DriverError('the machine is not running', { retryable: true }))
  const expected = { message: 'the machine is not running', retryable: true, ofEngine: false }
  await assert.rejects(remote.connect(ref), expected)
  await assert.rejects(remote.measureDisk(ref), expected)
  fail(new TypeError('a defect'))
  await assert.rejects(remote.connect(ref), { message: 'a defect', retryable: false })
})

test('only a process of the server is answered, and only by the listener with the certificate', async (t) => {
  const { listener, agents } = await start(t)
  const impostor = await start(t)
  const refused = { name: 'DriverError', retryable: true, ofEngine: true }
  await assert.rejects(createRemotePeer({ ...listener, token: 'another' }).connect(ref), refused)
  await assert.rejects(
    createRemotePeer({ ...listener, token: 'another' }).measureDisk(ref),
    refused,
  )
  const { port } = impostor.listener
  await assert.rejects(createRemotePeer({ ...listener, port, token }).connect(ref), refused)
  assert.deepEqual([agents.length, impostor.agents.length], [0, 0])

  const ask = (path: string, headers: Record<string, string> = {}) =>
    requestPeer(listener, path, { headers })
  const authorization = `Bearer ${token}`
  const disk = `/disks/${ref.id}/3`
  assert.equal(await ask(disk), 401)
  assert.equal(await ask(disk, { authorization: 'Bearer ' }), 401)
  assert.equal(await ask(disk, { authorization: token }), 401)
  assert.equal(await ask(disk, { authorization }), 200)
  for (const path of [
    '/',
    '/disks/..%2f..%2fetc/3',
    `/disks/${ref.id}/-1`,
    `/disks/${ref.id}/3/more`,
    `/agents/${ref.id}/3`,
  ]) {
    assert.equal(await ask(path, { authorization }), 404, path)
  }
  const upgrade = { authorization, connection: 'Upgrade', upgrade: 'websocket' }
  assert.equal(await ask(`/agents/${ref.id}/3`, upgrade), 400)
  const asAgent = { ...upgrade, upgrade: 'computer-agent' }
  const posted = { method: 'POST', headers: asAgent }
  assert.equal(await requestPeer(listener, `/agents/${ref.id}/3`, posted), 404)
})

test('a capture or an image arrives whole, or the stream fails', async (t) => {
  const { remote, send, fail } = await start(t)
  const bytes = Buffer.alloc(3 * 1024 * 1024, 'abcdefg')
  send([bytes, bytes])
  for (const transfer of [first, later]) {
    const stream = await remote.sendCapture(captureId, transfer)
    assert.ok((await buffer(stream)).equals(Buffer.concat([bytes, bytes])))
  }
  const image = await remote.readImage(first.imageId, 'rootfs')
  assert.equal((await buffer(image)).length, 2 * bytes.length)
  send([bytes, new Error('the disk cannot be read')])
  await assert.rejects(buffer(await remote.sendCapture(captureId, first)))
  fail(new DriverError('there is no capture', { retryable: false }))
  const expected = { message: 'there is no capture', retryable: false }
  await assert.rejects(remote.sendCapture(captureId, first), expected)
})

test('a new host is admitted with its token alone, by the worker that the token names', async (t) => {
  const { listener } = await start(t)
  assert.deepEqual(await requestToJoin(encodeToken(listener, 'invited')), admission)
  await assert.rejects(requestToJoin(encodeToken(listener, 'a guess')), /was used or has expired/)
  await assert.rejects(requestToJoin('nonsense'), /this is no token/)
  const impostor = await start(t)
  const { port } = impostor.listener
  const redirected = encodeToken({ ...listener, port }, 'invited')
  await assert.rejects(requestToJoin(redirected), /was restarted since/)
  await listener[Symbol.asyncDispose]()
  await assert.rejects(requestToJoin(encodeToken(listener, 'invited')), /cannot be reached/)
})

test('the listener closes with connections open, also ones that say nothing', async (t) => {
  const { listener, remote } = await start(t)
  const stream = await remote.connect(ref)
  stream.on('error', () => {})
  const mute = netConnect(listener.port, listener.address)
  mute.on('error', () => {})
  await new Promise((resolve) => mute.once('connect', resolve))
  const closed = [stream, mute].map((one) => new Promise((resolve) => one.once('close', resolve)))
  await listener[Symbol.asyncDispose]()
  await Promise.all(closed)
  await assert.rejects(remote.connect(ref), { name: 'DriverError', ofEngine: true })
})

/** The open sockets of this process, which has both ends of each stream. */
function countSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
}

/** A listener before agents that repeat what they are sent, or others. */
async function start(t: TestContext, settings: { readonly endingMs?: number } = {}) {
  const agents: Duplex[] = []
  let failure: Error | undefined
  let makeAgent = (): Duplex => new PassThrough()
  let parts: readonly (Buffer | Error)[] = []
  async function* sending() {
    for (const part of parts) {
      if (part instanceof Error) throw part
      yield part
    }
  }
  const peer: Peer = {
    async connect(asked) {
      assert.deepEqual(asked, ref)
      if (failure) throw failure
      const agent = makeAgent()
      agents.push(agent)
      return agent
    },
    async measureDisk() {
      if (failure) throw failure
      return 1234
    },
    async readImage(id, file) {
      assert.deepEqual([id, file], [first.imageId, 'rootfs'])
      return Readable.from(sending())
    },
    async sendCapture(id, transfer) {
      assert.deepEqual([id, transfer], [captureId, transfer.base ? later : first])
      if (failure) throw failure
      return Readable.from(sending())
    },
    openKeeper: () => assert.fail('no backup is made here'),
  }
  const isProof = async (given: string) => given === token
  const admit = async (secret: string) => (secret === 'invited' ? admission : null)
  const options = { address: '127.0.0.1', port: 0, isProof, admit, ...settings }
  const listener = await listenForPeers(peer, options)
  t.after(() => listener[Symbol.asyncDispose]())
  const fail = (error: Error) => (failure = error)
  const send = (next: typeof parts) => (parts = next)
  const answerWith = (make: typeof makeAgent) => (makeAgent = make)
  return {
    listener,
    agents,
    remote: createRemotePeer({ ...listener, token }),
    fail,
    send,
    answerWith,
  }
}
