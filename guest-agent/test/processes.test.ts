import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { ProcessId } from '@computer/contract'
import { LogFile } from '../src/processes/log-file.ts'
import { Processes } from '../src/processes/processes.ts'
import { Users } from '../src/system/users.ts'

const root = new Users('/etc').find('root')!
const nobody = { ...new Users('/etc').find('nobody')!, home: '/', groups: [65534, 4242] }
const folder = mkdtempSync(join(tmpdir(), 'guest-processes-'))
const processes = new Processes(join(folder, 'logs'))
const never = new AbortController().signal
after(() => {
  for (const { id, state } of processes.list()) {
    if (state === 'running') processes.find(id).signal('SIGKILL')
  }
  rmSync(folder, { recursive: true })
})

test('a command runs on without its caller, and its output is kept', async () => {
  const id = await start('echo out; echo err >&2; id -u; id -G; exit 3', nobody)
  const ended = await processes.find(id).waitForExit(30, never)
  assert.deepEqual([ended.state, ended.exit_code, ended.user], ['exited', 3, 'nobody'])
  assert.equal(await textOf(id, 'stdout'), 'out\n65534\n65534 4242\n')
  assert.equal(await textOf(id, 'stderr'), 'err\n')
  assert.equal(statSync(join(folder, 'logs')).mode & 0o777, 0o700)
})

test('a process receives its input and the end of it', async () => {
  const id = await start('cat; echo over')
  const one = processes.find(id)
  one.write(Buffer.from([0, 255, 10]), false)
  const first = await one.readLog({ stream: 'stdout', offset: 0, length: 100, wait: 30 }, never)
  assert.deepEqual([...Buffer.from(first.content, 'base64')], [0, 255, 10])
  assert.equal(first.eof, false)
  one.write(Buffer.from('more'), true)
  assert.throws(() => one.write(Buffer.from('late'), false), { code: 'conflict' })
  assert.equal((await one.waitForExit(30, never)).exit_code, 0)
  const rest = await one.readLog({ stream: 'stdout', offset: 3, length: 100, wait: 0 }, never)
  assert.equal(Buffer.from(rest.content, 'base64').toString(), 'moreover\n')
  assert.equal(rest.eof, true)
})

test('unread input is bounded', async () => {
  const one = processes.find(await start('sleep 600'))
  one.write(Buffer.alloc(4 * 1024 * 1024), false)
  assert.throws(() => one.write(Buffer.alloc(4 * 1024 * 1024), false), /has not read/)
  one.signal('SIGKILL')
})

test('a signal reaches the whole group; an exited process cannot be signalled', async () => {
  const id = await start('sleep 600 & sleep 600; echo never')
  const one = processes.find(id)
  one.signal('SIGTERM')
  assert.equal((await one.waitForExit(30, never)).exit_code, 143)
  assert.throws(() => one.signal('SIGTERM'), { code: 'conflict' })
})

test('a wait ends with its time or with its caller', async () => {
  const one = processes.find(await start('sleep 600'))
  assert.equal((await one.waitForExit(0.01, never)).state, 'running')
  const caller = new AbortController()
  const waiting = one.waitForExit(100, caller.signal)
  caller.abort()
  assert.equal((await waiting).state, 'running')
  one.signal('SIGKILL')
})

test('a child left in the background does not delay the exit', async () => {
  const id = await start('sleep 600 & echo $!')
  assert.equal((await processes.find(id).waitForExit(30, never)).state, 'exited')
  process.kill(Number(await textOf(id, 'stdout')))
})

test('the last 16 MiB of a long stream are kept, in no more disk space', async () => {
  const id = await start('seq -f %015.0f 1 2000000')
  const { exit_code } = await processes.find(id).waitForExit(60, never)
  assert.equal(exit_code, 0)
  const total = 2_000_000 * 16
  const log = await processes
    .find(id)
    .readLog({ stream: 'stdout', offset: 0, length: 32, wait: 0 }, never)
  const kept = 16 * 1024 * 1024
  assert.equal(log.offset, total - kept)
  const first = total / 16 - kept / 16 + 1
  const expected = `${String(first).padStart(15, '0')}\n${String(first + 1).padStart(15, '0')}\n`
  assert.equal(Buffer.from(log.content, 'base64').toString(), expected)
  assert.equal(statSync(join(folder, 'logs', `${id}.stdout`)).size, kept)
})

test('when the disk takes no output, the output is lost but the process runs', async () => {
  writeFileSync(join(folder, 'file'), '')
  const broken = new Processes(join(folder, 'file', 'logs'))
  const id = newId()
  await broken.start({ id, user: 'root', command: ['sh', '-c', 'seq 1 100000; exit 6'] }, login)
  assert.equal((await broken.find(id).waitForExit(30, never)).exit_code, 6)
  const query = { stream: 'stdout', offset: 0, length: 100, wait: 0 } as const
  assert.deepEqual(await broken.find(id).readLog(query, never), {
    content: '',
    offset: 0,
    eof: true,
  })
})

test('starting is idempotent, and logs of an earlier run are removed', async () => {
  const other = new Processes(join(folder, 'logs'))
  const before = readdirSync(join(folder, 'logs')).length
  const request = { id: newId(), user: 'root' as const, command: ['echo', 'x'] }
  await Promise.all([other.start(request, login), other.start(request, login)])
  await other.start(request, login)
  assert.equal(other.list().length, 1)
  await other.find(request.id).waitForExit(30, never)
  assert.ok(before > 1)
  assert.deepEqual(readdirSync(join(folder, 'logs')), [`${request.id}.stdout`])
})

test('the most recent exited processes are kept', async () => {
  const many = new Processes(join(folder, 'many'))
  const ids: ProcessId[] = []
  for (let count = 0; count < 103; count++) {
    const id = newId()
    ids.push(id)
    await many.start({ id, user: 'root', command: ['echo', 'x'] }, login)
    await many.find(id).waitForExit(30, never)
  }
  assert.equal(many.list()[0]!.id, ids.at(-1))
  assert.throws(() => many.find(ids[0]!), { code: 'not_found' })
  assert.equal(existsSync(join(folder, 'many', `${ids[0]!}.stdout`)), false)
})

test('a log file has the last bytes of its stream, for any chunks and ranges', async () => {
  const all = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz')
  for (const size of [1, 3, 7, 16, 36]) {
    const log = new LogFile(join(folder, `ring-${size}`), 16)
    for (let at = 0; at < all.length; at += size) await log.append(all.subarray(at, at + size))
    for (const offset of [0, 20, 25, 36, 99]) {
      const start = Math.min(Math.max(offset, 20), 36)
      const read = await log.read(offset, 10)
      assert.deepEqual(read, { offset: start, bytes: all.subarray(start, start + 10) })
    }
    await log.remove()
  }
})

const login = { user: root, ownsDesktop: false, secrets: {} }

let lastId = 0
function newId(): ProcessId {
  return `prc_${String((lastId += 1)).padStart(26, '0')}`
}

async function start(script: string, user = root): Promise<ProcessId> {
  const request = { id: newId(), user: 'root', command: ['sh', '-c', script] } as const
  return (
    await processes.start(
      { ...request, command: [...request.command] },
      { user, ownsDesktop: false, secrets: {} },
    )
  ).id
}

async function textOf(id: ProcessId, stream: 'stdout' | 'stderr'): Promise<string> {
  const query = { stream, offset: 0, length: 1024 * 1024, wait: 0 }
  const { content } = await processes.find(id).readLog(query, never)
  return Buffer.from(content, 'base64').toString()
}
