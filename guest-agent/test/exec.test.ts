import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { loginEnvironment } from '../src/exec/environment.ts'
import { runCommand, type ExecRequest } from '../src/exec/run.ts'
import { TailBuffer } from '../src/exec/tail-buffer.ts'
import { WaitingShells, type Login } from '../src/exec/waiting-shells.ts'
import { Users } from '../src/users.ts'

const shells = new WaitingShells()
const never = new AbortController().signal
const root = new Users('/etc').find('root')!
const nobody = { ...new Users('/etc').find('nobody')!, home: '/', groups: [65534, 4242] }

test('the answer is the exit code and both streams; stdin is fed', async () => {
  const result = await runCommand(
    shells,
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

test('a command runs as the user with its groups, its environment and nothing of ours', async () => {
  process.env.LEAKS = 'yes'
  const command = ['sh', '-c', 'id -u; id -G; echo $HOME $EXTRA ${LEAKS-none}']
  const request = { ...shell(''), command, user: nobody, env: { EXTRA: 'given' } }
  const { stdout } = await runCommand(shells, request, never)
  assert.deepEqual(stdout.trim().split('\n'), ['65534', '65534 4242', '/ given none'])
})

test('a signal gives 128 and its number; a timeout kills the group and keeps what was written', async () => {
  assert.equal((await runCommand(shells, shell('kill -9 $$'), never)).exit_code, 137)
  const result = await runCommand(
    shells,
    shell('echo partial; sleep 600 & sleep 600', { timeout_ms: 300 }),
    never,
  )
  assert.deepEqual([result.stdout, result.exit_code, result.timed_out], ['partial\n', 124, true])
})

test('a process left in the background does not hold the answer', async () => {
  const { stdout } = await runCommand(shells, shell('sleep 3 & echo $!'), never)
  assert.match(stdout, /^[1-9]\d*\n$/)
  assert.ok(existsSync(`/proc/${stdout.trim()}`), 'and lives on')
  process.kill(Number(stdout))
})

test('a caller that goes away ends the command', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'guest-exec-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'pid')
  const caller = new AbortController()
  const running = runCommand(shells, shell(`echo $$ > ${file}; exec sleep 600`), caller.signal)
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await pause(5)
  caller.abort()
  assert.equal((await running).exit_code, 137)
})

test('only a failure to run is an error', async () => {
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
    await assert.rejects(runCommand(shells, { ...shell('true'), ...change }, never), refused)
  }
})

test('a long stream keeps its end, in bounded memory', async () => {
  const result = await runCommand(shells, shell('yes x | head -c 30000000; echo end'), never)
  assert.equal(result.stdout.length, 1024 * 1024)
  assert.ok(result.stdout.endsWith('x\nend\n') && result.truncated)
})

test('a shell that waited becomes the command, and nothing tells it from one that did not', async () => {
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
      const expected = await runCommand(new WaitingShells(), request, never)
      assert.deepEqual(await runWaiting(request), expected, script)
    }
  }
  const late = { ...shell('echo partial; sleep 600'), timeout_ms: 300 }
  const { stdout, exit_code, timed_out } = await runWaiting(late)
  assert.deepEqual([stdout, exit_code, timed_out], ['partial\n', 124, true])
})

test('a shell that waits is not taken for what it was not started for', async () => {
  const request = { ...shell('echo $HOME; cat'), user: nobody }
  const cases: [Partial<ExecRequest>, string][] = [
    [{ user: { ...nobody, home: '/tmp' } }, '/tmp\n'],
    [{ env: { HOME: '/given' } }, '/given\n'],
    [{ stdin: 'in' }, '/\nin'],
    [{ command: ['printf', '-n%s', 'x'] }, '-nx'],
    [{ command: ['sh', '-c', 'echo ${#1}', '0', 'x'.repeat(100_000)] }, '100000\n'],
  ]
  for (const [change, expected] of cases) {
    const shells = new WaitingShells()
    shells.prepare(loginOf(request))
    const { stdout } = await runCommand(shells, { ...request, ...change }, never)
    assert.equal(stdout, expected)
  }
})

test('a shell that died while it waited is done without', async () => {
  const shells = new WaitingShells()
  const request = shell('echo $PPID')
  const waiting = shells.prepare(loginOf(request))!
  waiting.kill('SIGKILL')
  await once(waiting, 'exit')
  assert.equal((await runCommand(shells, request, never)).stdout, `${process.pid}\n`)
})

test('the tail of a stream is its last bytes, whatever the chunks', () => {
  for (const size of [1, 3, 7, 16, 50]) {
    const tail = new TailBuffer(16)
    const all = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz')
    for (let at = 0; at < all.length; at += size) tail.push(all.subarray(at, at + size))
    assert.equal(tail.text(), 'klmnopqrstuvwxyz')
    assert.ok(tail.truncated)
  }
})

test('a character cut by the limit is left out', () => {
  const tail = new TailBuffer(7)
  tail.push(Buffer.from('漢漢漢'))
  assert.equal(tail.text(), '漢漢')
})

function shell(script: string, change: Partial<ExecRequest> = {}): ExecRequest {
  const command = ['sh', '-c', script]
  return { command, user: root, ownsDesktop: false, secrets: {}, timeout_ms: 60_000, ...change }
}

function loginOf(request: ExecRequest): Login {
  return { user: request.user, environment: loginEnvironment(request) }
}

/** Runs it in a shell that waited, and makes sure of that. */
async function runWaiting(request: ExecRequest) {
  const shells = new WaitingShells()
  shells.prepare(loginOf(request))
  const take = mock.method(shells, 'take')
  const result = await runCommand(shells, request, never)
  assert.ok(take.mock.calls[0]?.result, 'no shell waited')
  return result
}
