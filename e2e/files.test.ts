import { encodeTarHeader, tarEnd, tarPadding } from '@computer/contract/tar'
import assert from 'node:assert/strict'
import { createHash, type Hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { soakSize } from '../scripts/soak/sizes.ts'
import { memoryMb, readServerPid } from './harness/processes.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* Uploads and downloads of a real machine, of any length. The tests share a server and a machine. */

const mebibyte = 1024 * 1024
const largeBytes = soakSize('gigabyte').mebibytes * mebibyte
/** Size of a first file, so that the memory that any transfer allocates does not count as growth. */
const warmBytes = 100 * mebibyte
/** How much a transfer of any length may add to a process that serves it. */
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

test('a file of several hundred megabytes is uploaded and downloaded intact, and neither end holds it in memory', async () => {
  const sent = createHash('sha256')
  const before = await readMemoryMb()
  const done = new AbortController()
  const watching = watchPeak(done.signal)
  const written = await upload(
    '/files/content?path=large',
    Readable.from(chunksOf(largeBytes, sent)),
  )
  assert.deepEqual(written, { path: '/home/agent/large', size: largeBytes })
  const sum = sent.digest('hex')
  assert.equal(await download('/files/content?path=large'), sum)
  done.abort()
  const peak = await watching
  const check = { timeout_ms: 140_000 }
  assert.match(await server.api.run(id, ['sha256sum', 'large'], check), new RegExp(`^${sum} `))
  assert.ok(peak.server - before.server <= maxGrowthMb, JSON.stringify({ before, peak }))
  assert.ok(peak.agent - before.agent <= maxGrowthMb, JSON.stringify({ before, peak }))
})

test('an archive of several hundred megabytes is written and read, and neither end holds it in memory', async () => {
  const half = largeBytes / 2
  const header = (name: string) =>
    encodeTarHeader({ type: 'file', path: name, mode: 0o644, size: half })
  const archive = function* () {
    for (const name of ['one', 'two']) {
      yield header(name)
      yield* chunksOf(half)
      yield tarPadding(half)
    }
    yield tarEnd
  }
  const before = await readMemoryMb()
  const done = new AbortController()
  const watching = watchPeak(done.signal)
  const tar = { 'content-type': 'application/x-tar' }
  const where = '/files/archive?path=archived'
  const written = JSON.parse(await call('PUT', where, tar, Readable.from(archive())))
  assert.deepEqual(written, { path: '/home/agent/archived', files: 2, bytes: largeBytes })
  const sink = new Writable({ write: (_chunk, _encoding, taken) => taken() })
  let received = 0
  sink.on('pipe', (source: Readable) => source.on('data', ({ length }) => (received += length)))
  await call('GET', where, {}, Readable.from([]), sink)
  done.abort()
  const peak = await watching
  assert.ok(received > largeBytes, String(received))
  assert.ok(peak.server - before.server <= maxGrowthMb, JSON.stringify({ before, peak }))
  assert.ok(peak.agent - before.agent <= maxGrowthMb, JSON.stringify({ before, peak }))
  await server.api.run(id, ['rm', '-r', 'archived'])
})

test('an interrupted upload leaves the old file and no temporary one', async () => {
  await server.api.ok('PUT', path('/files/content'), { path: 'cut/file', content: 'old' })
  const cut = async function* () {
    yield Buffer.alloc(mebibyte)
    throw new Error('cut')
  }
  await assert.rejects(upload('/files/content?path=cut/file', Readable.from(cut())), /cut/)
  const names = ['sh', '-c', 'while [ "$(ls -A cut)" != file ]; do sleep 0.1; done; cat cut/file']
  assert.equal(await server.api.run(id, names), 'old')
})

test('a tree is moved and removed, and its links are not followed', async () => {
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

test('a file that blocks does not block a call, and denied files are not touched', async () => {
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
    // The kernel log may be empty, or closed to containers.
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

/** Measures memory until the signal and resolves to the peak. */
async function watchPeak(signal: AbortSignal): Promise<Memory> {
  let peak: Memory = { server: 0, agent: 0 }
  while (!signal.aborted) {
    const now = await readMemoryMb()
    peak = { server: Math.max(peak.server, now.server), agent: Math.max(peak.agent, now.agent) }
    await delay(1_000, undefined, { signal }).catch(() => {})
  }
  return peak
}

type Memory = { readonly server: number; readonly agent: number }

/** The resident memory of the API and the agent. */
async function readMemoryMb(): Promise<Memory> {
  const pid = readServerPid(server.dataDir, 'api')
  const command = ['sh', '-c', 'cat /proc/$(pgrep -of /opt/computer)/status']
  const status = await server.api.run(id, command, { user: 'root' })
  return {
    server: memoryMb(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS'),
    agent: memoryMb(status, 'VmRSS'),
  }
}
