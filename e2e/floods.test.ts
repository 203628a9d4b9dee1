import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { GatewayClient } from '../server/test/gateway.ts'
import { messages, rfb } from '../server/test/rfb-messages.ts'
import { rfbOverWebSocket } from '../server/test/rfb-client.ts'
import { memoryMb, readServerPid } from './harness/processes.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * Programs that write without end and clients that read nothing, all at once, on one real machine. Every
 * process buffers only a bounded part of the unread bytes, and serves other clients.
 */

/**
 * Each unread download may buffer a stream window of 2 MB, and V8 may keep 64 MB of buffers before it
 * collects them. Without a bound it would be more than a gigabyte.
 */
const maxGrowthMb = 160
const fileMb = 64
const slowClients = 20
/** How long the commands write. Meanwhile everything else is called again and again. */
const floodMs = 12_000

let server: RealServer
let machine = ''
let gatewayUrl = ''
const cleanUps: (() => void)[] = []

before(async () => {
  server = await joinServer()
  gatewayUrl = (await server.api.ok('GET', '/v1/auth/me')).gateway_url
  machine = (await server.api.ok('POST', '/v1/machines', {})).id
  await server.api.waitForDesktop(machine)
})
after(async () => {
  for (const cleanUp of cleanUps) cleanUp()
  await server?.[Symbol.asyncDispose]()
})

test('unread output is not buffered without bound, and other clients are served', async (t) => {
  const content = path('/files/content?path=large')
  await server.api.run(machine, ['truncate', '-s', `${fileMb}M`, 'large'])
  await repaintConstantly()
  // Memory that the first calls allocate does not count as growth.
  await callEverything()
  const base = await readMemory()

  const floods = [1, 2].map(() => floodExec())
  const pty = await floodTerminal()
  const screen = await floodScreen()
  const readers = await Promise.all(times(slowClients, () => openReader(content)))
  const writers = times(slowClients, (number) => openWriter(number))

  const flooded = Promise.all(floods)
  let isOver = false
  flooded.finally(() => (isOver = true)).catch(() => {})
  const peak = { ...base }
  for (let round = 0; !isOver; round++) {
    await callEverything()
    const memory = await readMemory()
    for (const name of processes) peak[name] = Math.max(peak[name], memory[name])
    // The viewer's buffers are full, and it requests more.
    for (let request = 0; request < 50; request++) screen.request()
  }

  for (const name of processes) {
    t.diagnostic(`${name}: ${base[name].toFixed(0)} MB, at most ${peak[name].toFixed(0)} MB`)
  }
  for (const { body } of await flooded) {
    assert.deepEqual([body.timed_out, body.truncated], [true, true])
    assert.equal(body.stdout.length, 1024 * 1024)
  }
  for (const name of processes) {
    const growthMb = peak[name] - base[name]
    assert.ok(growthMb <= maxGrowthMb, `${name} grew by ${growthMb.toFixed(0)} MB`)
  }
  assert.ok(writers.every((writer) => !writer.destroyed))

  // Nothing was lost: each stream continues where it stopped.
  const first = readers[0]!
  let bytes = 0
  for await (const chunk of first) bytes += (chunk as Buffer).length
  assert.equal(bytes, fileMb * 2 ** 20)
  pty.socket.resume()
  pty.socket.send('\x03', { binary: true })
  await pty.until(({ controls }) => controls.some(({ type }) => type === 'exit'))
  screen.resume()
  await screen.shown()
})

const processes = ['api', 'gateway', 'agent'] as const
type Memory = Record<(typeof processes)[number], number>

/** Megabytes of memory that each process does not share. */
async function readMemory(): Promise<Memory> {
  const script = 'cat /proc/$(pgrep -of agent.mjs)/status'
  const [api, gateway, agent] = await Promise.all([
    readStatus('api'),
    readStatus('gateway'),
    server.api.run(machine, ['sh', '-c', script], { user: 'root' }),
  ])
  return {
    api: memoryMb(api, 'RssAnon'),
    gateway: memoryMb(gateway, 'RssAnon'),
    agent: memoryMb(agent, 'RssAnon'),
  }
}

function readStatus(service: string): Promise<string> {
  return readFile(`/proc/${readServerPid(server.dataDir, service)}/status`, 'utf8')
}

/** Expects every call to succeed, however long it takes. */
async function callEverything(): Promise<void> {
  await server.api.ok('GET', '/v1/machines')
  assert.equal(await server.api.run(machine, ['echo', 'served']), 'served\n')
  await server.api.ok('GET', path('/screenshot?format=jpeg'))
  await server.api.ok('PUT', path('/files/content'), { path: 'small', content: 'served' })
  const { content } = await server.api.ok('GET', path('/files/content?path=small'))
  assert.equal(content, 'served')
}

function floodExec() {
  return server.api.call('POST', path('/exec'), { command: ['yes'], timeout_ms: floodMs })
}

/** Attaches a client that stops reading. */
async function floodTerminal(): Promise<GatewayClient> {
  const { id } = await server.api.ok('POST', path('/terminals'), { command: ['yes'] })
  const client = connect(path(`/terminals/${id}`))
  await client.opened
  await client.until(({ frames }) => frames.length > 0)
  client.socket.pause()
  return client
}

/** A viewer that requests the whole screen uncompressed and reads nothing. */
async function floodScreen() {
  const client = connect(path('/screen'))
  await client.opened
  const viewer = rfbOverWebSocket(client.socket, { encodings: [rfb.raw], follows: false })
  for (const frame of client.frames) if ('payload' in frame) viewer.receive(frame.payload)
  await viewer.until(({ isConnected }) => isConnected)
  client.socket.pause()
  const { width, height } = viewer
  const whole = messages.requestUpdate(false, { x: 0, y: 0, width, height })
  return {
    request: () => client.socket.send(whole, { binary: true }),
    resume: () => client.socket.resume(),
    shown: () => viewer.until(({ updates }) => updates.length > 0),
  }
}

/** Runs the probe of the benches, which shows another picture sixty times a second. */
async function repaintConstantly(): Promise<void> {
  const probe = await readFile(new URL('../bench/guest/probe.py', import.meta.url), 'utf8')
  await server.api.ok('PUT', path('/files/content'), { path: 'probe.py', content: probe })
  const request = JSON.stringify({ do: 'play', first: 1, frames: 1_000_000, perSecond: 60 })
  await server.api.ok('PUT', path('/files/content'), { path: 'request', content: `${request}\n` })
  const program = 'setsid python3 probe.py <request >/dev/null 2>&1 &'
  await server.api.run(machine, ['sh', '-c', program])
}

/** Receives the headers of a response and reads none of its body. */
function openReader(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = send('GET', url, { accept: 'application/octet-stream' })
    outgoing.once('error', reject).once('response', resolve)
    outgoing.end()
  })
}

/** Sends the first bytes of a body and no more: of a file for even numbers, of JSON for odd ones. */
function openWriter(number: number): ClientRequest {
  const [url, method, type] =
    number % 2 === 0
      ? ([path(`/files/content?path=slow-${number}`), 'PUT', 'application/octet-stream'] as const)
      : ([path('/exec'), 'POST', 'application/json'] as const)
  const outgoing = send(method, url, { 'content-type': type, 'content-length': '1000000' })
  outgoing.on('error', () => {})
  outgoing.write('{'.padEnd(1_000))
  return outgoing
}

function send(method: string, url: string, headers: Record<string, string>): ClientRequest {
  const authorization = `Bearer ${server.api.key}`
  const outgoing = request(`${server.api.baseUrl}${url}`, {
    method,
    headers: { authorization, ...headers },
    agent: false,
  })
  cleanUps.push(() => outgoing.destroy())
  return outgoing
}

function connect(url: string): GatewayClient {
  const headers = { authorization: `Bearer ${server.api.key}` }
  const client = new GatewayClient(new WebSocket(`${gatewayUrl}${url}`, { headers }))
  cleanUps.push(() => client.socket.terminate())
  return client
}

function path(rest: string): string {
  return `/v1/machines/${machine}${rest}`
}

function times<T>(count: number, make: (number: number) => T): T[] {
  return Array.from({ length: count }, (_, number) => make(number))
}
