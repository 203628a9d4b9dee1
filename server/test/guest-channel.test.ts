import assert from 'node:assert/strict'
import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { duplexPair, Readable, type Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import type { MachineDriver } from '../src/drivers/machine-driver.ts'
import { GuestChannels, type GuestRef } from '../src/guest/channels.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { GuestUnavailable } from '../src/guest/errors.ts'
import { attachTerminal } from '../src/guest/terminals.ts'
import { until } from './fake-machine.ts'

const ref: GuestRef = {
  id: 'mch_00000000000000000000000001',
  generation: 1,
  host: 'local',
  run: 'first',
}
const healthy = '{"version":"1","boot_id":"b","fence":null}'

test('a call to an agent that never responds fails as not sent', async (t) => {
  const silent: Driver = { connect: async () => duplexPair()[0] }
  const guests = createGuestClient(silent, { openTimeoutMs: 20 })
  t.after(() => guests[Symbol.asyncDispose]())
  await assert.rejects(guests.health(ref), { name: 'GuestUnavailable', sent: false })
  assert.equal(guests.channels.size, 0)
})

test('an agent that hangs up again and again is connected to four times, then calls wait', async () => {
  let connections = 0
  const rude: Driver = {
    connect: async () => {
      connections++
      const [ours, theirs] = duplexPair()
      theirs.destroy()
      return ours
    },
  }
  const guests = createGuestClient(rude)
  const unreachable = { name: 'GuestUnavailable', sent: false }
  for (let count = 0; count < 4; count++) await assert.rejects(guests.health(ref), unreachable)
  const fifth = assert.rejects(guests.health(ref), unreachable)
  const other = guests.health({ ...ref, run: `${ref.run} again` })
  await assert.rejects(other, unreachable)
  assert.equal(connections, 5)
  await guests[Symbol.asyncDispose]()
  await fifth
  assert.equal(connections, 5)
})

test('closing does not wait for an agent that reads nothing', async (t) => {
  const agent = startAgent(t, (stream) => respond(stream, healthy))
  await agent.guests.health(ref)
  agent.pause()
  const upload = agent.guests.writeFile(ref, { path: 'x' }, Buffer.alloc(8 * 1024 * 1024))
  const broken = assert.rejects(upload, { name: 'GuestUnavailable' })
  await agent.guests[Symbol.asyncDispose]()
  await broken
})

test('an agent that ends its side of the connection does not end this process', async (t) => {
  const agent = startAgent(t, (stream, path) => {
    if (path === '/health') respond(stream, healthy)
  })
  await agent.guests.health(ref)
  const waiting = agent.guests.usage(ref)
  const broken = assert.rejects(waiting, { name: 'GuestUnavailable' })
  agent.endOutput()
  for (let turn = 0; turn < 20; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await agent.guests.health(ref).catch((error: unknown) => {
      assert.ok(error instanceof GuestUnavailable)
    })
  }
  await broken
})

test('a call over a bridge that closes at once fails as not sent', async (t) => {
  const closed: Driver = {
    connect: async () => {
      const [caller, agent] = duplexPair()
      agent.destroy()
      caller.destroy()
      return caller
    },
  }
  const guests = createGuestClient(closed)
  t.after(() => guests[Symbol.asyncDispose]())
  await assert.rejects(guests.health(ref), { name: 'GuestUnavailable', sent: false })
})

test('a request times out alone: its channel stays open while the agent responds', async (t) => {
  const agent = startAgent(t, (stream, path) => {
    if (path === '/health') respond(stream, healthy)
  })
  const channels = new GuestChannels(agent.driver)
  t.after(() => channels[Symbol.asyncDispose]())
  const request = { method: 'POST', path: '/exec', body: Buffer.from('{}'), timeoutMs: 10 } as const
  const answer = channels.request(ref, request, async () => {})
  await assert.rejects(answer, { name: 'GuestUnavailable', sent: true, message: /10 ms/ })
  const health = { method: 'GET', path: '/health', timeoutMs: 10_000 } as const
  const status = await channels.request(ref, health, async (head) => head.status)
  assert.equal(status, 200)
  assert.equal(agent.sessions.length, 1)
})

test('a request does not time out because this process stood still', async (t) => {
  let isAsked = false
  const agent = startAgent(t, (stream, path) => {
    isAsked ||= path === '/exec'
    if (path === '/health') respond(stream, healthy)
    else setTimeout(() => respond(stream, '{}'), 50)
  })
  const channels = new GuestChannels(agent.driver)
  t.after(() => channels[Symbol.asyncDispose]())
  const health = { method: 'GET', path: '/health', timeoutMs: 10_000 } as const
  await channels.request(ref, health, async () => {})
  const request = {
    method: 'POST',
    path: '/exec',
    body: Buffer.from('{}'),
    timeoutMs: 500,
  } as const
  const answer = channels.request(ref, request, async (head) => head.status)
  await until(() => isAsked)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  assert.equal(await answer, 200)
})

for (const [name, head, body] of [
  ['is not JSON', {}, 'hello'],
  ['has another shape', {}, '{"version":1}'],
  ['is too long', {}, `"${'x'.repeat(2 * 1024 * 1024)}"`],
  ['is a refusal without a reason', { ':status': 500 }, '{}'],
  ['uses a code that is not its own', { ':status': 401 }, errorBody('unauthenticated')],
] as const) {
  test(`a response that ${name} is invalid`, async (t) => {
    const agent = startAgent(t, (stream) => respond(stream, body, head))
    await assert.rejects(agent.guests.health(ref), { name: 'GuestUnavailable', sent: true })
  })
}

test('a screenshot without geometry and a file without a path are invalid', async (t) => {
  const agent = startAgent(t, (stream) =>
    respond(stream, 'x', { 'x-display-width': '12', 'x-file-size': '1', 'x-file-path': '%ff' }),
  )
  await assert.rejects(agent.guests.screenshot(ref, {}), { name: 'GuestUnavailable' })
  await assert.rejects(agent.guests.readFile(ref, { path: 'a' }), { name: 'GuestUnavailable' })
})

test('an agent cannot send more of a file than was requested', async (t) => {
  const head = { 'x-file-size': '1', 'x-file-path': '%2Fa' }
  const agent = startAgent(t, (stream) => respond(stream, 'longer', head))
  const read = agent.guests.readFileBytes(ref, { path: 'a', length: 3 })
  await assert.rejects(read, { name: 'GuestUnavailable', message: /longer than 3 bytes/ })
})

test('a file that ends before its announced length fails', async (t) => {
  const head = { 'x-file-size': '9', 'x-file-path': '%2Fa', 'content-length': '9' }
  const agent = startAgent(t, (stream) => respond(stream, 'short', head))
  const whole = agent.guests.readFileBytes(ref, { path: 'a', length: 9 })
  await assert.rejects(whole, { name: 'GuestUnavailable' })
  const { stream } = await agent.guests.readFile(ref, { path: 'a' })
  await assert.rejects(buffer(stream), { name: 'GuestUnavailable' })
})

test('an upload that is refused before it is read does not wait for its source', async (t) => {
  const agent = startAgent(t, (stream, path) => {
    if (path === '/health') respond(stream, healthy)
    else respond(stream, errorBody('permission_denied'), { ':status': 403 })
  })
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(64 * 1024))
    },
  })
  const upload = agent.guests.writeFile(ref, { path: 'x' }, endless)
  await assert.rejects(upload, { name: 'GuestRefusal', code: 'permission_denied' })
  assert.equal(endless.destroyed, false)
  assert.equal((await agent.guests.health(ref)).version, '1')
})

test('a stream that the agent refuses and resets at once is refused for its reason', async (t) => {
  const body = errorBody('conflict')
  const agent = startAgent(t, (stream) => {
    const deliver = agent.gather()
    stream.once('close', deliver)
    respond(stream, body, { ':status': 409, 'content-length': String(body.length) })
  })
  const attached = attachTerminal(agent.guests.channels, ref, 'trm_00000000000000000000000001')
  await assert.rejects(attached, { name: 'GuestRefusal', code: 'conflict' })
})

test('a request that the agent did not process is sent again, even if it is not idempotent', async (t) => {
  const agent = startAgent(t, (stream, path) => {
    if (path === '/health') return respond(stream, healthy)
    if (agent.sessions.length > 1) return respond(stream, '{"fence":7}')
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id! - 2)
  })
  await agent.guests.health(ref)
  assert.deepEqual(await agent.guests.setFence(ref, { fence: 7, since: 7 }), { fence: 7 })
})

test('a request that the agent may have processed is sent again only if it is read-only', async (t) => {
  let dying = false
  const agent = startAgent(t, (stream) => {
    if (dying) stream.session?.destroy()
    else respond(stream, healthy)
    dying = false
  })
  await agent.guests.health(ref)
  dying = true
  const fence = agent.guests.setFence(ref, { fence: 7, since: 7 })
  await assert.rejects(fence, { name: 'GuestUnavailable', sent: true })
  await agent.guests.health(ref)
  dying = true
  assert.equal((await agent.guests.health(ref)).version, '1')
})

test('a machine takes 256 concurrent requests, and the fence in addition', async (t) => {
  const agent = startAgent(t, (stream, path) => {
    if (path === '/fence') respond(stream, '{"fence":1}')
    else agent.waiting.push(stream)
  })
  const reads = Array.from({ length: 256 }, () => agent.guests.display(ref))
  await until(() => agent.waiting.length === 256)
  await assert.rejects(agent.guests.display(ref), { name: 'GuestUnavailable', sent: false })
  await agent.guests.setFence(ref, { fence: 1, since: 1 })
  for (const stream of agent.waiting) respond(stream, '{"width":1,"height":1,"up":true}')
  assert.equal((await Promise.all(reads)).length, 256)
})

type Driver = Pick<MachineDriver, 'connect'>

/** An agent that answers each request as the test says. */
function startAgent(t: TestContext, serve: (stream: ServerHttp2Stream, path: string) => void) {
  const sessions: ServerHttp2Session[] = []
  const wires: Duplex[] = []
  const driver: Driver = {
    async connect() {
      const [caller, agent] = duplexPair()
      const session = performServerHandshake(agent, { settings: { maxConcurrentStreams: 1000 } })
      session.on('error', () => {})
      session.on('stream', (stream, headers) => {
        stream.on('error', () => {})
        serve(stream, (headers[':path'] ?? '').split('?')[0]!)
      })
      session.once('close', () => caller.destroy())
      caller.once('close', () => session.destroy())
      sessions.push(session)
      wires.push(caller)
      return caller
    },
  }
  const guests = createGuestClient(driver)
  t.after(() => guests[Symbol.asyncDispose]())
  /** From now on, nothing that is sent arrives at the other side. */
  const pause = () => {
    for (const wire of wires) wire._write = () => {}
  }
  /** The agent ends its side of every connection, and the ends of ours take their time. */
  const endOutput = () => {
    for (const wire of wires) {
      wire._final = () => {}
      wire.push(null)
    }
  }
  /** What the agent sends from now on arrives at once, when the result is called. */
  const gather = () => {
    const pieces: Buffer[] = []
    const pushes = wires.map((wire) => ({ wire, push: wire.push.bind(wire) }))
    for (const { wire } of pushes) {
      wire.push = (piece: Buffer) => {
        pieces.push(piece)
        // Reports it as taken, so that the agent goes on.
        setImmediate(() => wire._read(0))
        return true
      }
    }
    return () => {
      for (const { wire, push } of pushes) Object.assign(wire, { push })
      wires[0]!.push(Buffer.concat(pieces))
    }
  }
  return { driver, guests, sessions, pause, endOutput, gather, waiting: [] as ServerHttp2Stream[] }
}

function respond(stream: ServerHttp2Stream, body: string, head: Record<string, unknown> = {}) {
  stream.respond({ ':status': 200, ...(head as Record<string, string>) })
  stream.end(body)
}

function errorBody(code: string): string {
  return JSON.stringify({ error: { code, message: 'no' } })
}
