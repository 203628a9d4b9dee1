import assert from 'node:assert/strict'
import { createHash, type Hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { soakSize } from '../scripts/soak/sizes.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* Files of a real machine, of any length both ways. The tests share a server and a machine. */

const mebibyte = 1024 * 1024
const largeBytes = soakSize('gigabyte').mebibytes * mebibyte
/** What one of a tenth of that leaves behind in a process is no growth. */
const warmBytes = 100 * mebibyte
/** What a call of any length may add to a process that serves it. */
const maxGrowthMb = 64

let server: RealServer
let id = ''
const path = (rest: string) => `/v1/machines/${id}${rest}`

before(async () => {
  server = await joinServer()
  id = (await server.api.ok('POST', '/v1/machines', { metadata: { purpose: 'e2e' } })).id
  await upload('/files/content?path=warm', Readable.from(chunksOf(warmBytes)))
  await download('/files/content?path=warm')
})
after(() => server?.[Symbol.asyncDispose]())

test('a file of several hundred megabytes goes in and comes out whole, and neither end holds it', async () => {
  const sent = createHash('sha256')
  const before = await readMemoryMb()
  const done = new AbortController()
  const looking = mostUntil(done.signal)
  const written = await upload(
    '/files/content?path=large',
    Readable.from(chunksOf(largeBytes, sent)),
  )
  assert.deepEqual(written, { path: '/home/agent/large', size: largeBytes })
  const sum = sent.digest('hex')
  assert.equal(await download('/files/content?path=large'), sum)
  done.abort()
  const most = await looking
  const check = { timeout_ms: 140_000 }
  assert.match(await server.api.run(id, ['sha256sum', 'large'], check), new RegExp(`^${sum} `))
  assert.ok(most.server - before.server <= maxGrowthMb, JSON.stringify({ before, most }))
  assert.ok(most.agent - before.agent <= maxGrowthMb, JSON.stringify({ before, most }))
})

test('an upload that is cut leaves the old file and nothing beside it', async () => {
  await server.api.ok('PUT', path('/files/content'), { path: 'cut/file', content: 'old' })
  const cut = async function* () {
    yield Buffer.alloc(mebibyte)
    throw new Error('cut')
  }
  await assert.rejects(upload('/files/content?path=cut/file', Readable.from(cut())), /cut/)
  const names = ['sh', '-c', 'while [ "$(ls -A cut)" != file ]; do sleep 0.1; done; cat cut/file']
  assert.equal(await server.api.run(id, names), 'old')
})

test('a tree is moved and removed, a link alone and what it leads to not', async () => {
  await server.api.run(id, ['sh', '-c', 'mkdir -p a/b && echo x > a/b/c && ln -s /etc a/link'])
  const moved = await server.api.ok('POST', path('/files/move'), { from: 'a', to: 'moved' })
  assert.deepEqual(moved, { path: '/home/agent/moved' })
  const remove = (rest: string) => server.api.call('DELETE', path(`/files?path=${rest}`))
  assert.equal((await remove('moved')).status, 409)
  assert.equal((await remove('moved&recursive=true')).status, 204)
  assert.equal(
    await server.api.run(id, ['sh', '-c', 'ls -d moved; test -e /etc/passwd && echo yes']),
    'yes\n',
  )
})

test('nothing that waits keeps a call, and nothing denied is touched', async () => {
  await server.api.run(id, ['mkfifo', 'fifo'])
  await server.api.run(id, ['ln', '-s', '/run/computer', 'out'])
  await server.api.run(id, ['ln', '/run/computer/agent.sock', '/run/hard'], { user: 'root' })
  for (const [where, status] of [
    ['fifo', 400],
    ['/dev/zero', 400],
    ['/proc/kmsg', 200],
    ['/sys/kernel/mm/transparent_hugepage/enabled', 200],
    ['/proc/1/environ', 403],
    ['/run/computer/agent.sock', 403],
    ['/opt/computer', 403],
    ['/run/hard', 403],
    ['out', 403],
    ['/proc/self/root/run/computer', 403],
  ] as const) {
    const read = await server.api.call('GET', path(`/files/content?path=${where}`))
    // A log of the kernel may be empty by now, or closed to a container.
    if (where !== '/proc/kmsg') assert.equal(read.status, status, `${where} ${read.bytes}`)
    if (status !== 403) continue
    const removed = await server.api.call('DELETE', path(`/files?recursive=true&path=${where}`))
    assert.equal(removed.status, 403, where)
  }
  for (const above of ['/run', '/opt']) {
    const removed = await server.api.call('DELETE', path(`/files?recursive=true&path=${above}`))
    assert.ok([400, 403].includes(removed.status), above)
  }
  assert.equal(await server.api.run(id, ['true']), '')
})

function* chunksOf(bytes: number, hash?: Hash): Generator<Buffer> {
  for (let sent = 0; sent < bytes; sent += mebibyte) {
    const chunk = Buffer.alloc(mebibyte, `${sent} `)
    hash?.update(chunk)
    yield chunk
  }
}

async function upload(rest: string, body: Readable): Promise<unknown> {
  const headers = { 'content-type': 'application/octet-stream' }
  return JSON.parse(await call('PUT', rest, headers, body))
}

async function download(rest: string): Promise<string> {
  const hash = createHash('sha256')
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done()
    },
  })
  await call('GET', rest, { accept: 'application/octet-stream' }, Readable.from([]), sink)
  return hash.digest('hex')
}

async function call(
  method: string,
  rest: string,
  headers: Record<string, string>,
  body: Readable,
  sink?: Writable,
): Promise<string> {
  const out = request(new URL(path(rest), server.api.baseUrl), {
    method,
    headers: { authorization: `Bearer ${server.api.key}`, ...headers },
  })
  const answered = new Promise<string>((resolve, reject) => {
    out.once('error', reject)
    out.once('response', (answer) => {
      if (sink) {
        pipeline(answer, sink).then(() => resolve(''), reject)
        return
      }
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.once('end', () => resolve(text)).once('error', reject)
    })
  })
  await Promise.all([pipeline(body, out), answered])
  return answered
}

/** The most that was seen, look after look. */
async function mostUntil(signal: AbortSignal): Promise<Memory> {
  let most: Memory = { server: 0, agent: 0 }
  while (!signal.aborted) {
    const now = await readMemoryMb()
    most = { server: Math.max(most.server, now.server), agent: Math.max(most.agent, now.agent) }
    await delay(1_000, undefined, { signal }).catch(() => {})
  }
  return most
}

type Memory = { readonly server: number; readonly agent: number }

/** Resident memory of the process that answers the API, and of the agent. */
async function readMemoryMb(): Promise<Memory> {
  const record = await readFile(join(server.dataDir, 'run', 'api.pid'), 'utf8')
  const { pid } = JSON.parse(record) as { pid: number }
  const command = ['sh', '-c', 'cat /proc/$(pgrep -of /opt/computer)/status']
  const status = await server.api.run(id, command, { user: 'root' })
  return {
    server: residentMb(await readFile(`/proc/${pid}/status`, 'utf8')),
    agent: residentMb(status),
  }
}

function residentMb(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
