import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { makeLogin } from '../src/exec/environment.ts'
import { runCommand, type ExecRequest } from '../src/exec/run.ts'
import { TailBuffer } from '../src/exec/tail-buffer.ts'
import { ShellPool } from '../src/exec/shell-pool.ts'
import { Users } from '../src/system/users.ts'

const pool = new ShellPool()
const never = new AbortController().signal
const root = new Users('/etc').find('root')!
const nobody = { ...new Users('/etc').find('nobody')!, home: '/', groups: [65534, 4242] }

test('the result has the exit code and both streams; stdin is written', async () => {
  const result = await runCommand(
    pool,
    shell('cat; echo err >&2; exit 3', { stdin: 'é漢😀' }),
    never,
  )
  const expected = {
    stdout: 'é漢😀',
    stderr: 'err\n',
    exit_code: 3,
    timed_out: false,
    truncated: false,
  }
  assert.deepEqual(result, expected)
})

test('a command runs with its user, groups and environment, and nothing of the agent’s', async () => {
  process.env.LEAKS = 'yes'
  const command = ['sh', '-c', 'id -u; id -G; echo $HOME $EXTRA ${LEAKS-none}']
  const request = { ...shell(''), command, user: nobody, env: { EXTRA: 'given' } }
  const { stdout } = await runCommand(pool, request, never)
  assert.deepEqual(stdout.trim().split('\n'), ['65534', '65534 4242', '/ given none'])
})

test('a signal gives 128 and its number; a timeout kills the group and keeps the output', async () => {
  assert.equal((await runCommand(pool, shell('kill -9 $$'), never)).exit_code, 137)
  const result = await runCommand(
    pool,
    shell('echo partial; sleep 600 & sleep 600', { timeout_ms: 300 }),
    never,
  )
  assert.deepEqual([result.stdout, result.exit_code, result.timed_out], ['partial\n', 124, true])
})

test('a process left in the background does not delay the result', async () => {
  const { stdout } = await runCommand(pool, shell('sleep 3 & echo $!'), never)
  assert.match(stdout, /^[1-9]\d*\n$/)
  assert.ok(existsSync(`/proc/${stdout.trim()}`), 'it must still run')
  process.kill(Number(stdout))
})

test('the command ends when its caller goes away', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'guest-exec-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'pid')
  const caller = new AbortController()
  const running = runCommand(pool, shell(`echo $$ > ${file}; exec sleep 600`), caller.signal)
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await pause(5)
  caller.abort()
  assert.equal((await running).exit_code, 137)
})

test('only a failure to start is an error', async () => {
  const cases: [Partial<ExecRequest>, RegExp][] = [
    [{ command: ['no-such-command'] }, /no-such-command was not found/],
    [{ command: ['/etc/passwd'] }, /may not be executed by root/],
    [{ command: [''] }, /was not found/],
    [{ cwd: '/no/such/place' }, /working directory .* does not exist/],
    [{ cwd: '/etc/passwd' }, /is not a directory/],
    [{ cwd: '/root', user: nobody }, /may not be entered by nobody/],
  ]
  for (const [change, message] of cases) {
    const refused = { code: 'invalid_request', message }
    await assert.rejects(runCommand(pool, { ...shell('true'), ...change }, never), refused)
  }
})

test('the end of a long stream is kept, in bounded memory', async () => {
  const result = await runCommand(pool, shell('yes x | head -c 30000000; echo end'), never)
  assert.equal(result.stdout.length, 1024 * 1024)
  assert.ok(result.stdout.endsWith('x\nend\n') && result.truncated)
})

test('a pooled shell becomes the command, which cannot tell the difference', async () => {
  const scripts = [
    'env | sort; pwd; id -u; id -G; umask; ulimit -n',
    'ls -l /proc/self/fd | sed "s/.* \\([0-9]* -> .*\\)/\\1/; s/\\[.*//; s/proc.*//"',
    'for id in $(cut -d " " -f 5,6 /proc/$$/stat); do test $id = $$ && echo leads; done; cat; exit 7',
    'kill -9 $$',
    `printf '%s|' "$@"; echo $0`,
  ]
  const words = ["it's", 'a  b', '', '$HOME `id` \\ "', 'new\nline', '-n', 'é漢😀', '*', '~', '#']
  for (const user of [root, nobody]) {
    for (const script of scripts) {
      const command = ['sh', '-c', script, 'zero', ...words]
      const request = { ...shell(''), command, user, cwd: '/usr/lib' }
      const expected = await runCommand(new ShellPool(), request, never)
      assert.deepEqual(await runPooled(request), expected, script)
    }
  }
  const late = { ...shell('echo partial; sleep 600'), timeout_ms: 300 }
  const { stdout, exit_code, timed_out } = await runPooled(late)
  assert.deepEqual([stdout, exit_code, timed_out], ['partial\n', 124, true])
})

test('a pooled shell is not used for a command that it does not fit', async () => {
  const request = { ...shell('echo $HOME; cat'), user: nobody }
  const cases: [Partial<ExecRequest>, string][] = [
    [{ user: { ...nobody, home: '/tmp' } }, '/tmp\n'],
    [{ env: { HOME: '/given' } }, '/given\n'],
    [{ stdin: 'in' }, '/\nin'],
    [{ command: ['printf', '-n%s', 'x'] }, '-nx'],
    [{ command: ['sh', '-c', 'echo ${#1}', '0', 'x'.repeat(100_000)] }, '100000\n'],
  ]
  for (const [change, expected] of cases) {
    const pool = new ShellPool()
    pool.warm(makeLogin(request))
    const { stdout } = await runCommand(pool, { ...request, ...change }, never)
    assert.equal(stdout, expected)
  }
})

test('a pooled shell that has died is not used', async () => {
  const pool = new ShellPool()
  const request = shell('echo $PPID')
  const pooled = pool.warm(makeLogin(request))!
  pooled.kill('SIGKILL')
  await once(pooled, 'exit')
  assert.equal((await runCommand(pool, request, never)).stdout, `${process.pid}\n`)
})

test('a tail buffer has the last bytes, however the stream is split', () => {
  for (const size of [1, 3, 7, 16, 50]) {
    const tail = new TailBuffer(16)
    const all = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz')
    for (let at = 0; at < all.length; at += size) tail.push(all.subarray(at, at + size))
    assert.equal(tail.text(), 'klmnopqrstuvwxyz')
    assert.ok(tail.truncated)
  }
})

test('a character that the limit cut is dropped', () => {
  const tail = new TailBuffer(7)
  tail.push(Buffer.from('漢漢漢'))
  assert.equal(tail.text(), '漢漢')
})

function shell(script: string, change: Partial<ExecRequest> = {}): ExecRequest {
  const command = ['sh', '-c', script]
  return { command, user: root, ownsDesktop: false, secrets: {}, timeout_ms: 60_000, ...change }
}

/** Asserts that the command ran in a pooled shell. */
async function runPooled(request: ExecRequest) {
  const pool = new ShellPool()
  pool.warm(makeLogin(request))
  const acquire = mock.method(pool, 'acquire')
  const result = await runCommand(pool, request, never)
  assert.ok(acquire.mock.calls[0]?.result, 'the command did not run in a pooled shell')
  return result
}
