import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from './harness/polling.ts'
import { readPrograms } from './harness/guide-programs.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* Runs the programs of docs/real-time.md as written. novnc.test.ts covers the screen. */

let server: RealServer
let folder: string
let id = ''

before(async () => {
  server = await joinServer()
  folder = await mkdtemp(join(tmpdir(), 'computer-guide-'))
  for (const [name, text] of await readPrograms('docs/real-time.md')) {
    await writeFile(join(folder, name), text)
  }
  id = (await server.api.ok('POST', '/v1/machines', {})).id
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await server[Symbol.asyncDispose]()
})

test('the program for terminals', async () => {
  const program = run('terminal.mjs')
  await program.ended
  const output = program.output()
  assert.match(output, /43 132\r\n/)
  assert.match(output, /\{"type":"exit","exit_code":3\}\n1000 the command has exited\n$/)
})

test('the program for pointers', async () => {
  const program = run('pointers.mjs')
  await program.ended
  const [pointer, ...others] = JSON.parse(program.output()).pointers
  assert.match(pointer.id, /^viewer_\d+$/)
  assert.deepEqual(
    { ...pointer, id: '', name: '' },
    { id: '', name: '', kind: 'agent', session_id: null, at: { x: 640, y: 400 }, clicked: false },
  )
  assert.deepEqual(others, [])
})

test('the program for events, across a restart of the gateway, until the machine is deleted', async () => {
  const program = run('events.mjs')
  await waitForOutput(program, /machine.ready/)
  await server.kill('gateway')
  await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
  await waitForOutput(program, /machine.stopped/)
  await server.api.ok('DELETE', `/v1/machines/${id}`)
  await program.ended
  const events = program.output().trim().split('\n')
  assert.equal(events.at(-1), `${events.length - 1} machine.deleted`)
  assert.ok(
    events.every((line, sequence) => line.startsWith(`${sequence} `)),
    events.join('\n'),
  )
})

function run(name: string) {
  const child = spawn(process.execPath, [join(folder, name), id], {
    env: { ...process.env, ...server.guideEnv },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 200_000,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  return { output: () => output, ended: once(child, 'close') }
}

async function waitForOutput({ output }: ReturnType<typeof run>, pattern: RegExp): Promise<void> {
  await eventually(`${pattern} is printed`, async () => pattern.test(output()))
}
