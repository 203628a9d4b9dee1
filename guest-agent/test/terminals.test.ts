import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { duplexPair } from 'node:stream'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { TerminalId } from '@computer/contract'
import { runCommand } from '../src/exec/run.ts'
import { ShellPool } from '../src/exec/shell-pool.ts'
import { sessionMembers } from '../src/terminals/posix-session.ts'
import { Terminals } from '../src/terminals/terminals.ts'
import { Users } from '../src/system/users.ts'
import { TerminalClient, until } from './terminal-client.ts'

const root = new Users('/etc').find('root')!
const nobody = {
  ...new Users('/etc').find('nobody')!,
  home: '/',
  shell: '/bin/sh',
  groups: [65534],
}
const terminals = new Terminals()
after(() => Promise.all(terminals.list().map(({ id }) => terminals.kill(id))))

test('a command has a terminal of its own: size, name, streams and session', async () => {
  const script =
    'stty size; tty; echo $TERM; test -t 0 -a -t 1 -a -t 2 && : </dev/tty; echo $?; id -u'
  const client = attach(open({ command: ['sh', '-c', script], cols: 100, rows: 30 }, nobody))
  assert.equal(await client.exit, 0)
  assert.match(client.text, /^30 100\r\n\/dev\/pts\/\d+\r\nxterm-256color\r\n0\r\n65534\r\n$/)
})

test('the device of a terminal belongs to its user', async () => {
  const client = attach(open({ command: ['sh', '-c', 'echo by name >"$(tty)"'] }, nobody))
  assert.equal(await client.exit, 0)
  assert.equal(client.text, 'by name\r\n')
})

test('the default is a login shell; its exit code follows its last byte', async () => {
  const id = open({}, { ...root, shell: '/bin/bash' })
  const client = attach(id)
  client.write('shopt login_shell; stty -echo; echo ready\r')
  await client.until(/login_shell +\ton[^]*\nready\r\n/)
  client.write('exit 7\r')
  assert.equal(await client.exit, 7)
  assert.deepEqual(
    terminals.list().filter((terminal) => terminal.id === id),
    [],
  )
})

test('control characters become signals, and a resize reaches the program', async () => {
  const script =
    'trap "stty size" WINCH; trap "echo caught" INT; echo up; while :; do sleep 0.05; done'
  const id = open({ command: ['sh', '-c', script] })
  const client = attach(id)
  await client.until(/up/)
  client.resize(132, 43)
  await client.until(/43 132/)
  client.write('\x03')
  await client.until(/caught/)
  const [info] = terminals.list().filter((terminal) => terminal.id === id)
  assert.deepEqual([info!.cols, info!.rows, info!.attached], [132, 43, true])
  client.write('\x1c')
  assert.equal(await client.exit, 128 + 3)
})

test('a full-screen program can be used and left', async () => {
  const client = attach(open({ command: ['sh', '-c', 'seq 1 500 | less'], rows: 10 }))
  await client.until(/\n9\r\n:/)
  client.write('G')
  await client.until(/500\r\n/)
  client.write('q')
  assert.equal(await client.exit, 0)
})

test('bytes pass unmodified in both directions', async () => {
  const client = attach(
    open({ command: ['sh', '-c', 'stty raw -echo; echo up; exec head -c 512'] }),
  )
  await client.until(/up/)
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index & 255))
  client.write(bytes)
  assert.equal(await client.exit, 0)
  assert.deepEqual(client.bytes.subarray(-512), bytes)
})

test('a slow reader holds the command back and receives every byte', async () => {
  const count = 400_000
  const script = `stty -opost; seq 1 ${count}; exit 3`
  const id = open({ command: ['sh', '-c', script] })
  const client = attach(id, { isSlow: true })
  const before = process.memoryUsage().rss
  // The command can write no more, because nobody reads.
  await unchanged(() => writtenIn(terminals.find(id).sessionId))
  assert.equal(await running(id), true)
  assert.ok(process.memoryUsage().rss - before < 16 * 1024 * 1024)
  client.read()
  assert.equal(await client.exit, 3)
  const expected = Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('')
  assert.ok(client.text === expected, 'bytes are missing or repeated')
})

test('a later client gets the last 256 KiB and what follows, without a gap or a repeat', async () => {
  const script = 'stty -opost -echo; seq 1 100000; read go; seq 100001 200000; read go'
  const id = open({ command: ['sh', '-c', script] })
  const first = attach(id)
  await first.until(/\n100000\n$/)
  first.stream.destroy()
  await until(() => terminals.list().some((one) => one.id === id && !one.attached))

  const second = attach(id)
  await second.until(/\n100000\n$/)
  assert.equal(second.bytes.length, 256 * 1024)
  second.write('\r')
  await second.until(/\n100000\n100001\n/)
  second.stream.destroy()
  // Attach while it writes.
  await until(() => terminals.list().some((one) => one.id === id && !one.attached))
  const third = attach(id)
  await third.until(/\n200000\n$/)
  const numbers = third.text.split('\n').slice(1, -1).map(Number)
  assert.ok(numbers.every((number, index) => number === numbers[0]! + index))
})

test('a second client is refused while the first is attached', async () => {
  const id = open({ command: ['cat'] })
  const first = attach(id)
  assert.throws(() => terminals.find(id).reserve(), { code: 'conflict' })
  first.stream.destroy()
  await until(() => terminals.list().some((one) => one.id === id && !one.attached))
  const second = attach(id)
  second.write('hello\r')
  await second.until(/hello\r\nhello/)
})

test('an exited command leaves its output and exit code', async () => {
  const id = open({ command: ['sh', '-c', 'echo done; exit 4'] })
  await until(async () => !(await running(id)))
  const client = attach(id)
  assert.equal(await client.exit, 4)
  assert.equal(client.text, 'done\r\n')
})

test('a background process that keeps writing does not delay the exit', async () => {
  const client = attach(open({ command: ['sh', '-c', 'trap "" HUP; yes & exit 5'] }))
  assert.equal(await client.exit, 5)
})

test('killing ends every process inside, including those that ignore the hangup', async () => {
  const script = 'set -m; trap "" HUP; sleep 600 & (sleep 601; sleep 602) & echo up; sleep 603'
  const id = open({ command: ['bash', '-c', script] })
  const client = attach(id)
  await client.until(/up/)
  const { sessionId } = terminals.find(id)
  await until(() => sessionMembers(sessionId).length >= 5)
  await terminals.kill(id)
  assert.deepEqual(sessionMembers(sessionId), [])
  assert.notEqual(await client.exit, 0)
  assert.throws(() => terminals.find(id), { code: 'not_found' })
})

for (const [name, work] of [
  ['a process may handle the hangup and exit by itself', 'echo bye'],
  ['what a process starts to handle the hangup is not hung up', 'sleep 0.2; echo bye'],
] as const) {
  test(name, async () => {
    const script = `trap "${work}; exit 9" HUP; echo up; while :; do sleep 0.05; done`
    const id = open({ command: ['bash', '-c', script] })
    const client = attach(id)
    await client.until(/up/)
    await terminals.kill(id)
    assert.equal(await client.exit, 9)
    assert.match(client.text, /bye/)
  })
}

test('a terminal that is killed while its command starts is hung up, and not killed', async () => {
  const hangup = 128 + 1
  for (let round = 0; round < 100; round++) {
    const id = open({ command: ['sleep', '600'] })
    const client = attach(id)
    await pause(round % 10)
    await terminals.kill(id)
    assert.equal(await client.exit, hangup)
  }
})

test('processes started later inherit no descriptor of a terminal', async () => {
  open({ command: ['cat'] })
  open({ command: ['cat'] })
  const command = ['sh', '-c', 'ls -l /proc/self/fd']
  const client = attach(open({ command }))
  assert.equal(await client.exit, 0)
  assert.doesNotMatch(client.text, /ptmx/)
  const request = { command, user: root, ownsDesktop: false, secrets: {}, timeout_ms: 60_000 }
  const never = new AbortController().signal
  const { stdout } = await runCommand(new ShellPool(), request, never)
  assert.match(stdout, /\/proc/)
  assert.doesNotMatch(stdout, /ptmx|pts/)
})

test('a command that cannot run is refused with the reason', () => {
  const refused = (message: RegExp) => ({ code: 'invalid_request', message })
  assert.throws(() => open({ command: ['no-such-command'] }), refused(/was not found/))
  assert.throws(() => open({ cwd: '/no/such/place' }), refused(/does not exist/))
  assert.throws(() => terminals.find(newId()), { code: 'not_found' })
})

test('opening is idempotent, and there are at most 64 terminals', async (t) => {
  const crowd = new Terminals()
  const request = (id: TerminalId) => ({ ...base, id, command: ['cat'] })
  const ids = Array.from({ length: 64 }, newId)
  t.after(() => Promise.all(crowd.list().map(({ id }) => crowd.kill(id))))
  const login = { user: root, ownsDesktop: false, secrets: {} }
  for (const id of ids) crowd.open(request(id), login)
  const again = crowd.open(request(ids[0]!), login)
  assert.equal(again.id, ids[0])
  assert.equal(crowd.list().length, 64)
  assert.throws(() => crowd.open(request(newId()), login), { code: 'conflict' })
  assert.deepEqual(
    crowd.list().map(({ id }) => id),
    ids.toReversed(),
  )
})

const base = { user: 'root', cols: 80, rows: 24 } as const
type OpenOptions = { command?: string[]; cwd?: string; cols?: number; rows?: number }

let lastId = 0
function newId(): TerminalId {
  return `trm_${String((lastId += 1)).padStart(26, '0')}`
}

function open(options: OpenOptions, user = root): TerminalId {
  const request = { ...base, id: newId(), ...options }
  return terminals.open(request, { user, ownsDesktop: false, secrets: {} }).id
}

function attach(id: TerminalId, options: { isSlow?: boolean } = {}) {
  const terminal = terminals.find(id)
  terminal.reserve()
  const [agent, caller] = duplexPair({ highWaterMark: 16 * 1024 })
  // As in HTTP/2, closing one side closes the other.
  caller.once('close', () => agent.destroy())
  terminal.attach(agent)
  const client = new TerminalClient(caller)
  if (!options.isSlow) client.read()
  return client
}

/** Resolves when the value stays the same over many polls. */
async function unchanged(read: () => number): Promise<void> {
  let last = read()
  for (let same = 0; same < 20;) {
    await pause(10)
    const now = read()
    same = now === last ? same + 1 : 0
    last = now
  }
}

async function running(id: TerminalId): Promise<boolean> {
  return terminals.list().some((terminal) => terminal.id === id)
}

/** How many bytes the processes of a session have written. */
function writtenIn(sessionId: number): number {
  const counts = sessionMembers(sessionId).map((pid) => {
    const io = readFileSync(`/proc/${pid}/io`, 'utf8')
    return Number(/wchar: (\d+)/.exec(io)![1])
  })
  return counts.reduce((sum, bytes) => sum + bytes, 0)
}
