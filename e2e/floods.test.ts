import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { GatewayClient } from '../server/test/gateway.ts'
import { messages, rfb } from '../server/test/rfb-messages.ts'
import { rfbOverWebSocket } from '../server/test/rfb-client.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * Programs that write without end and clients that take nothing, all at once, on one real machine.
 * Whoever could keep what nobody takes keeps a bounded part of it, and serves the others.
 */

/**
 * Each unread download may hold a stream window of 2 MB, and an engine of JavaScript lets 64 MB of
 * buffers wait before it collects them. Without a bound it would be more than a gigabyte.
 */
const mostGrowthMb = 160
const fileMb = 64
const slowClients = 20
/** How long the commands write: meanwhile everything else is looked at, again and again. */
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

test('what nobody takes is held by nobody, and others are served', async (t) => {
  const content = path('/files/content?path=large')
  await server.api.run(machine, ['truncate', '-s', `${fileMb}M`, 'large'])
  await repaintWildly()
  // What everybody needs once is not growth.
  await askEverything()
  const base = await readMemory()

  const floods = [1, 2].map(() => floodExec())
  const pty = await floodTerminal()
  const screen = await floodScreen()
  const readers = await Promise.all(times(slowClients, () => openReader(content)))
  const writers = times(slowClients, (number) => openWriter(number))

  const flooded = Promise.all(floods)
  let isOver = false
  flooded.finally(() => (isOver = true)).catch(() => {})
  const most = { ...base }
  for (let round = 0; !isOver; round++) {
    await askEverything()
    const memory = await readMemory()
    for (const role of roles) most[role] = Math.max(most[role], memory[role])
    // Its buffers are full, and it asks for more.
    for (let request = 0; request < 50; request++) screen.ask()
  }

  for (const role of roles) {
    t.diagnostic(`${role}: ${base[role].toFixed(0)} MB, at most ${most[role].toFixed(0)} MB`)
  }
  for (const { body } of await flooded) {
    assert.deepEqual([body.timed_out, body.truncated], [true, true])
    assert.equal(body.stdout.length, 1024 * 1024)
  }
  for (const role of roles) {
    const growthMb = most[role] - base[role]
    assert.ok(growthMb <= mostGrowthMb, `${role} grew by ${growthMb.toFixed(0)} MB`)
  }
  assert.ok(writers.every((writer) => !writer.destroyed))

  // Nothing of it was lost: it goes on where it stood.
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

const roles = ['api', 'gateway', 'agent'] as const
type Memory = Record<(typeof roles)[number], number>

/** Megabytes that each has for itself. */
async function readMemory(): Promise<Memory> {
  const script = 'cat /proc/$(pgrep -of agent.mjs)/status'
  const [api, gateway, agent] = await Promise.all([
    readRole('api'),
    readRole('gateway'),
    server.api.run(machine, ['sh', '-c', script], { user: 'root' }),
  ])
  return { api: anonymousMb(api), gateway: anonymousMb(gateway), agent: anonymousMb(agent) }
}

async function readRole(role: string): Promise<string> {
  const record = await readFile(join(server.dataDir, 'run', `${role}.pid`), 'utf8')
  const { pid } = JSON.parse(record) as { pid: number }
  return readFile(`/proc/${pid}/status`, 'utf8')
}

function anonymousMb(status: string): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)![1]) / 1024
}

/** Each is answered, however long it takes. */
async function askEverything(): Promise<void> {
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

/** A client that has its connection and reads nothing from it. */
async function floodTerminal(): Promise<GatewayClient> {
  const { id } = await server.api.ok('POST', path('/terminals'), { command: ['yes'] })
  const client = connect(path(`/terminals/${id}`))
  await client.opened
  await client.until(({ frames }) => frames.length > 0)
  client.socket.pause()
  return client
}

/** A viewer that asks for the whole screen, uncompressed, and reads nothing. */
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
    ask: () => client.socket.send(whole, { binary: true }),
    resume: () => client.socket.resume(),
    shown: () => viewer.until(({ updates }) => updates.length > 0),
  }
}

/** The probe of the benches, which shows another picture sixty times a second. */
async function repaintWildly(): Promise<void> {
  const probe = await readFile(new URL('../bench/guest/probe.py', import.meta.url), 'utf8')
  await server.api.ok('PUT', path('/files/content'), { path: 'probe.py', content: probe })
  const wish = JSON.stringify({ do: 'play', first: 1, frames: 1_000_000, perSecond: 60 })
  await server.api.ok('PUT', path('/files/content'), { path: 'wish', content: `${wish}\n` })
  const program = 'setsid python3 probe.py <wish >/dev/null 2>&1 &'
  await server.api.run(machine, ['sh', '-c', program])
}

/** Has the head of the answer, and takes none of its body. */
function openReader(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = send('GET', url, { accept: 'application/octet-stream' })
    asked.once('error', reject).once('response', resolve)
    asked.end()
  })
}

/** Sends the first bytes of a body, and no more: every other one of a file, the rest of JSON. */
function openWriter(number: number): ClientRequest {
  const [url, method, type] =
    number % 2 === 0
      ? ([path(`/files/content?path=slow-${number}`), 'PUT', 'application/octet-stream'] as const)
      : ([path('/exec'), 'POST', 'application/json'] as const)
  const asked = send(method, url, { 'content-type': type, 'content-length': '1000000' })
  asked.on('error', () => {})
  asked.write('{'.padEnd(1_000))
  return asked
}

function send(method: string, url: string, headers: Record<string, string>): ClientRequest {
  const authorization = `Bearer ${server.api.key}`
  const asked = request(`${server.api.baseUrl}${url}`, {
    method,
    headers: { authorization, ...headers },
    agent: false,
  })
  cleanUps.push(() => asked.destroy())
  return asked
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
