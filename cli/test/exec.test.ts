import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, start, json, server } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })

test('exec passes arguments and input, and returns output and exit code', async () => {
  const plain = await run(['exec', 'first', 'sh', '-c', 'echo out; ls /wrong; exit 3'])
  assert.deepEqual([plain.stdout, plain.code], ['out\n', 3])
  assert.match(plain.stderr, /wrong.*No such file/)
  // Flags after the command belong to the command.
  assert.equal((await run(['exec', id, 'echo', '--json', '-u'])).stdout, '--json -u\n')
  const root = ['exec', '-u', 'root', '-w', '/tmp', '-e', 'GREETING=hi', 'first', '--']
  const where = await run([...root, 'sh', '-c', 'whoami; pwd; printenv GREETING'])
  assert.equal(where.stdout, 'root\n/tmp\nhi\n')
  const input = 'Grüße\n'.repeat(100_000)
  assert.equal((await run(['exec', 'first', 'cat'], { stdin: input })).stdout, input)
  assert.equal((await run(['exec', '-n', 'first', 'cat'], { stdin: input })).stdout, '')
})

test('a command that cannot be run exits with 255', async () => {
  const nobody = await run(['exec', 'nobody', 'true'])
  assert.equal(nobody.code, 255)
  assert.match(nobody.stderr, /^error: machine "nobody" not found/)
  const flag = await run(['exec', 'first', '-u', 'root', 'true'])
  assert.equal(flag.code, 255)
  assert.match(flag.stderr, /put options of this command before the machine/)
  const json = await run(['exec', '--json', 'nobody', 'true'])
  assert.equal(json.code, 255)
  assert.equal(JSON.parse(json.stderr).error.code, 'not_found')
})

test('binary input and output pass through byte for byte', async () => {
  const bytes = randomBytes(3_000_000)
  const whole = await run(['exec', 'first', 'cat'], { stdin: bytes })
  assert.deepEqual([whole.code, whole.stderr], [0, ''])
  assert.ok(whole.bytes.equals(bytes))
  const unpack = 'mkdir -p unpacked && tar x -C unpacked && ls unpacked'
  const source = join(import.meta.dirname, '../src/commands/keys')
  const archive = execFileSync('tar', ['c', '-C', source, '.'])
  const listed = await run(['exec', 'first', 'bash', '-c', unpack], { stdin: archive })
  assert.equal(listed.stdout.trim(), readdirSync(source).toSorted().join('\n'))
})

test('with --json the result is one object', async () => {
  const script = 'echo out; echo err >&2; exit 3'
  const { code, stdout, stderr } = await run(['exec', '--json', 'first', 'sh', '-c', script])
  assert.deepEqual([code, stderr], [3, ''])
  const result = { exit_code: 3, stdout: 'out\n', stderr: 'err\n' }
  assert.deepEqual(JSON.parse(stdout), { ...result, timed_out: false, truncated: false })
  const long = await run(['exec', '--json', 'first', 'seq', '400000'])
  const kept = JSON.parse(long.stdout)
  assert.deepEqual([kept.truncated, kept.stdout.length], [true, 1024 * 1024])
  assert.match(kept.stdout, /\n399999\n400000\n$/)
})

test('a time limit kills the command', async () => {
  const limited = await run(['exec', '--json', '--timeout', '0.2', 'first', 'sleep', '600'])
  assert.equal(limited.code, 124)
  const { exit_code: exitCode, timed_out: timedOut } = JSON.parse(limited.stdout)
  assert.deepEqual([exitCode, timedOut], [124, true])
})

test('a detached command is listed, followed and killed', async () => {
  const script = 'echo begun; sleep 600'
  const { stdout } = await run(['exec', '--detach', 'first', 'sh', '-c', script])
  const process = stdout.trim()
  assert.match(process, /^prc_\w+$/)
  const listed = (await json('ps', 'first')) as { id: string; state: string }[]
  assert.deepEqual(
    listed.map((each) => each.id),
    [process],
  )
  assert.match((await run(['ps', 'first'])).stdout, /^ID +STATE +USER +STARTED +COMMAND\n.* sh -c /)
  const { child, ended } = start(['logs', 'first', process, '--follow'])
  await once(child.stdout!, 'data')
  assert.equal((await run(['logs', 'first', process])).stdout, 'begun\n')
  assert.equal((await run(['kill', 'first', process])).stdout, `sent SIGTERM to ${process}\n`)
  const followed = await ended
  assert.deepEqual([followed.stdout, followed.code], ['begun\n', 0])
  assert.deepEqual(await json('ps', 'first'), [])
  assert.match((await run(['ps', 'first', '--all'])).stdout, /exited \(143\)/)
  assert.equal((await run(['logs', 'first', 'prc_00000000000000000000000000'])).code, 5)
})

test('signals are forwarded to the command', async () => {
  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const { child, ended } = start(['exec', 'first', 'sleep', '600'])
    const isRunning = (process: { state: string }) => process.state === 'running'
    for (;;) {
      const { body } = await server.call('GET', `/v1/machines/${id}/processes`)
      if (body.data.some(isRunning)) break
    }
    child.kill(signal)
    assert.equal((await ended).code, expected)
  }
  assert.equal((await json('machines', 'get', 'first')).state, 'running')
})
