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

/* The programs of docs/real-time.md, run as they stand there. The screen is in novnc.test.ts. */

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

test('the terminal', async () => {
  const program = run('terminal.mjs')
  await program.ended
  const output = program.output()
  assert.match(output, /43 132\r\n/)
  assert.match(output, /\{"type":"exit","exit_code":3\}\n1000 the command has exited\n$/)
})

test('the events, across a restart of the gateway, until the machine is gone', async () => {
  const program = run('events.mjs')
  await printed(program, /machine.ready/)
  await server.kill('gateway')
  await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
  await printed(program, /machine.stopped/)
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

async function printed({ output }: ReturnType<typeof run>, pattern: RegExp): Promise<void> {
  await eventually(`${pattern} is printed`, async () => pattern.test(output()))
}
