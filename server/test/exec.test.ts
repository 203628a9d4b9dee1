import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })
const { id } = await server.machine()
const path = `/v1/machines/${id}/exec`

test('a command runs and returns its output, whatever its exit code', async () => {
  const { status, body } = await run({ command: ['sh', '-c', 'echo out; exit 3'] })
  assert.equal(status, 200)
  assert.deepEqual(body, {
    stdout: 'out\n',
    stderr: '',
    exit_code: 3,
    timed_out: false,
    truncated: false,
  })
  assert.equal((await run({ command: ['false'] })).body.exit_code, 1)
})

test('user, working directory, environment and input reach the command', async () => {
  assert.equal((await run({ command: ['whoami'] })).body.stdout, 'agent\n')
  assert.equal((await run({ command: ['whoami'], user: 'root' })).body.stdout, 'root\n')
  assert.equal((await run({ command: ['pwd'], cwd: '/etc' })).body.stdout, '/etc\n')
  const env = { COLOUR: 'réd 漢' }
  assert.equal((await run({ command: ['printenv', 'COLOUR'], env })).body.stdout, 'réd 漢\n')
  assert.equal((await run({ command: ['cat'], stdin: 'é\n🙂' })).body.stdout, 'é\n🙂')
})

test('no shell interprets the arguments', async () => {
  const { body } = await run({ command: ['echo', '$HOME', '; rm -rf /', '', '*'] })
  assert.equal(body.stdout, '$HOME ; rm -rf /  *\n')
})

test('a timeout ends the command and keeps what it wrote', async () => {
  const { status, body } = await run({
    command: ['sh', '-c', 'echo before; sleep 30; echo after'],
    timeout_ms: 1_000,
  })
  assert.equal(status, 200)
  assert.deepEqual([body.stdout, body.exit_code, body.timed_out], ['before\n', 124, true])
})

test('the last mebibyte of each stream is kept', async () => {
  const { body } = await run({ command: ['head', '-c', '1048577', '/dev/zero'] })
  assert.deepEqual([body.stdout.length, body.truncated], [1_048_576, true])
})

test('a call outside the contract is refused, and the error names the field', async () => {
  for (const [body, field] of [
    [{}, 'command'],
    [{ command: 'ls' }, 'command'],
    [{ command: [] }, 'command'],
    [{ command: ['a', 1] }, 'command.1'],
    [{ command: ['a\0b'] }, 'command.0'],
    [{ command: ['true'], user: 'nobody' }, 'user'],
    [{ command: ['true'], cwd: '' }, 'cwd'],
    [{ command: ['true'], env: { 'A=B': 'x' } }, 'env.A=B'],
    [{ command: ['true'], env: { '1A': 'x' } }, 'env.1A'],
    [{ command: ['true'], env: { A: 1 } }, 'env.A'],
    [{ command: ['true'], env: { A: 'x\0y' } }, 'env.A'],
    [{ command: ['true'], stdin: 5 }, 'stdin'],
    [{ command: ['true'], timeout_ms: 0 }, 'timeout_ms'],
    [{ command: ['true'], timeout_ms: 3_600_001 }, 'timeout_ms'],
    [{ command: ['true'], shell: true }, 'shell'],
  ] as const) {
    const { status, body: answer } = await run(body)
    assert.deepEqual([status, answer.error.details[0].field], [400, field], JSON.stringify(body))
  }
  const unknown = await run({ command: ['no-such-program'] })
  assert.deepEqual([unknown.status, unknown.body.error.code], [400, 'invalid_request'])
})

test('a caller that disconnects ends its command', async () => {
  const url = new URL(path, await server.listen())
  const hangUp = new AbortController()
  const command = ['sh', '-c', 'echo $$ > started; exec sleep 3000']
  const call = fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ command, timeout_ms: 3_600_000 }),
    signal: hangUp.signal,
  })
  const { disk } = server.guest(id)
  const pid = await eventually(async () => disk.read('started')?.toString().trim() || undefined)
  const isAlive = async () => {
    const { body } = await run({ command: ['test', '-e', `/proc/${pid}`] })
    return body.exit_code === 0
  }
  assert.ok(await isAlive())
  hangUp.abort()
  await assert.rejects(call, { name: 'AbortError' })
  await eventually(async () => ((await isAlive()) ? undefined : true))
})

test('a machine that does not run or does not respond is reported', async () => {
  const { id: other } = await server.machine({ start: false })
  const command = ['true']
  const call = () => server.call('POST', `/v1/machines/${other}/exec`, { command })
  const stopped = await call()
  assert.deepEqual([stopped.status, stopped.body.error.code], [412, 'precondition_failed'])
  assert.match(stopped.body.error.message, /stopped/)

  const boot = server.engine.controls.holdBoot()
  await server.call('POST', `/v1/machines/${other}/start`)
  await boot.reached
  const starting = await call()
  assert.deepEqual([starting.status, starting.body.error.code], [503, 'compute_unavailable'])
  assert.ok(starting.headers['retry-after'])
  boot.release()
  await eventually(async () => ((await call()).status === 200 ? true : undefined))

  const reboot = server.engine.controls.holdBoot()
  server.engine.controls.reboot({ id: other, generation: 1 })
  const silent = await call()
  assert.deepEqual([silent.status, silent.body.error.code], [503, 'compute_unavailable'])
  assert.ok(silent.headers['retry-after'])
  reboot.release()
  assert.equal((await call()).status, 200)
})

function run(body: unknown) {
  return server.call('POST', path, body)
}
