import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import type { Process } from '../src/index.ts'
import { createNetwork, lose, type Sent } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const network = createNetwork()
const machine = await server.connect({ fetch: network.fetch }).machines.create({ name: 'first' })

test('a command line runs in bash, and an array without a shell', async () => {
  const line = 'set -o pipefail; [[ -n $HOME ]] && echo {1..3}; false | true'
  const result = await machine.exec(line)
  assert.deepEqual([result.stdout, result.exitCode], ['1 2 3\n', 1])
  assert.equal((await machine.exec(['echo', '$HOME {1..3}'])).stdout, '$HOME {1..3}\n')
  const { id } = await machine.processes.start(line)
  assert.equal((await machine.processes.wait(id)).exitCode, 1)
})

test('a command line runs in sh on a machine without bash', async () => {
  await machine.exec('mkdir only-sh && ln -s /bin/sh only-sh/sh')
  const env = { PATH: '/home/agent/only-sh' }
  assert.equal((await machine.exec('echo $0', { env })).stdout, 'sh\n')
  await assert.rejects(machine.exec('true', { env: { PATH: '/none' } }), {
    code: 'invalid_request',
    message: /sh was not found/,
  })
})

test('output arrives while the command runs, and the result is the same', async () => {
  const arrived = Promise.withResolvers<void>()
  const seen = { stdout: '', stderr: '' }
  const running = machine.exec('echo grün; echo wrong >&2; read line; echo "$line"; exit 3', {
    stdin: (async function* () {
      await arrived.promise
      yield Buffer.from('from input\n')
    })(),
    onStdout(text) {
      seen.stdout += text
      // The command waits for its input, which waits for this.
      if (seen.stdout.includes('grün')) arrived.resolve()
    },
    onStderr: (text) => void (seen.stderr += text),
  })
  const result = await running
  assert.deepEqual(result, { ...seen, exitCode: 3, timedOut: false, truncated: false })
  assert.deepEqual(seen, { stdout: 'grün\nfrom input\n', stderr: 'wrong\n' })
})

test('a long output is streamed whole, and its end is the result', async () => {
  let length = 0
  const command = 'seq 400000'
  const streamed = await machine.exec(command, { onStdout: (text) => void (length += text.length) })
  assert.equal(length, 2_688_895)
  assert.ok(streamed.truncated)
  assert.deepEqual(streamed, await machine.exec(command))
})

test('binary input arrives byte for byte, however slowly it is read', async () => {
  const bytes = Buffer.from(Array.from({ length: 6_000_000 }, (_, at) => (at * 7) % 256))
  const count = 'until [ -e go ]; do sleep 0.02; done; cat > input.bin; wc -c < input.bin'
  const counting = machine.exec(count, { stdin: bytes })
  // The machine refuses more input than it can keep, until the command reads some.
  const isRefused = ({ what, status }: Sent) => what.endsWith('/stdin') && status === 409
  await eventually(async () => network.sent.some(isRefused) || undefined)
  await machine.files.write('go', '')
  const whole = await counting
  assert.deepEqual([whole.exitCode, whole.stdout.trim()], [0, '6000000'])
  assert.ok(bytes.equals(await machine.files.read('input.bin')))
  const pieces = Readable.from([bytes.subarray(0, 3), bytes.subarray(3, 5_000_000)])
  assert.equal((await machine.exec(count, { stdin: pieces })).stdout.trim(), '5000000')
  // A command may exit without reading its input.
  assert.equal((await machine.exec('exit 4', { stdin: bytes })).exitCode, 4)
})

test('a time limit kills a streamed command, with what it started', async () => {
  const command = 'sleep 600 & sleep 600'
  const { exitCode, timedOut } = await machine.exec(command, { timeoutMs: 300, onStdout() {} })
  assert.deepEqual([exitCode, timedOut], [124, true])
  assert.deepEqual(await running(), [])
})

test('an abort, a failed callback and a failed call kill a streamed command', async () => {
  const leaving = new AbortController()
  const command = 'echo begun; sleep 600'
  const abort = () => leaving.abort(new Error('enough'))
  const aborted = machine.exec(command, { signal: leaving.signal, onStdout: abort })
  await assert.rejects(aborted, /enough/)
  const onStdout = async () => {
    throw new Error('no room')
  }
  await assert.rejects(machine.exec(command, { onStdout }), /no room/)
  network.next('/stdin', lose)
  await assert.rejects(machine.exec(command, { onStdout() {} }), { code: 'connection_failed' })
  await eventually(async () => (await running()).length === 0 || undefined)
})

async function running(): Promise<Process[]> {
  const all = await machine.processes.list().all()
  return all.filter(({ state }) => state === 'running')
}
