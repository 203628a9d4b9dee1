import assert from 'node:assert/strict'
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
  const { code, stderr } = await run(['exec', 'first', 'cat'], { stdin: Buffer.from([0xff, 0xfe]) })
  assert.equal(code, 255)
  assert.match(stderr, /not UTF-8 text/)
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
