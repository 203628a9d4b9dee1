import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../../server/test/settled.ts'
import { ApiError, type Computer, type Machine, type Screen } from '../src/index.ts'
import { startServer } from './server.ts'

/* The fragments of the guide, which continue with `computer` and `machine`, as the guide has them. */

export type Surroundings = {
  readonly computer: Computer
  readonly machine: Machine
  readonly ApiError: typeof ApiError
  readonly console: { log: (...values: unknown[]) => void }
  /** Of the terminal: a page would have xterm.js here. */
  readonly screen: { write: (bytes: Uint8Array) => void; reset: () => void }
  /** Of the live screen: a page would have noVNC and an element of the page here. */
  readonly RFB: new (element: null, channel: Screen) => object
  readonly element: null
}
type Fragment = (surroundings: Surroundings) => Promise<void>

const repoDir = fileURLToPath(new URL('../../', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'computer-guide-'))
after(() => rm(folder, { recursive: true, force: true }))
const file = join(folder, 'fragments.ts')
const text = await readFile(join(repoDir, 'docs/sdk.md'), 'utf8')
const names = ['lists', 'commands', 'lease', 'events', 'terminal', 'screen'] as const
const bodies = [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, body]) => body!)
await writeFile(file, moduleOf(bodies))
const fragments = (await import(file)) as Record<(typeof names)[number], Fragment>

const server = await startServer({ after })
const computer = server.connect()
const machine = await computer.machines.create({ name: 'first' })

test('they compile against the SDK', async () => {
  assert.equal(bodies.length, names.length)
  const options = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--ignoreConfig',
    '--allowImportingTsExtensions',
  ]
  const target = ['--target', 'es2024', '--lib', 'esnext,dom', '--module', 'nodenext']
  const types = ['--types', 'node', '--typeRoots', join(repoDir, 'node_modules/@types')]
  const tsc = join(repoDir, 'node_modules/typescript/bin/tsc')
  const args = [tsc, ...options, ...target, ...types, file]
  await promisify(execFile)(process.execPath, args).catch((error) => assert.fail(error.stdout))
})

test('lists are read', async () => {
  const { logged } = await play('lists')
  assert.deepEqual(logged, ['first'])
})

test('a command runs in bash', async () => {
  await play('commands')
})

test('the lease is taken from the own key', async () => {
  const former = await server.connect().machines.get(machine.id)
  await former.input.acquire()
  await play('lease')
  await machine.mouse.move(1, 1)
  await assert.rejects(former.mouse.move(1, 1), { code: 'precondition_failed' })
  await machine.input.release()
})

test('events are delivered', async () => {
  const other = await computer.machines.create()
  const playing = play('events', { machine: other })
  await eventually(async () => {
    await other.restart()
    return playing.logged.length > 0 || undefined
  })
  await other.delete()
  assert.equal((await playing).logged.at(-1), 'machine.deleted')
})

test('a terminal shows its output until it exits', async () => {
  const playing = play('terminal')
  await eventually(async () => playing.shown().includes('\n') || undefined)
  for (const { id } of await machine.terminals.list().all()) await machine.terminals.kill(id)
  await playing
})

test('a live screen reaches what shows it', async () => {
  const greeting = Promise.withResolvers<string>()
  class RFB {
    constructor(_element: null, channel: Screen) {
      channel.onmessage = ({ data }) => {
        greeting.resolve(Buffer.from(data).toString('latin1'))
        channel.close()
      }
    }
  }
  await play('screen', { RFB })
  assert.equal(await greeting.promise, 'RFB 003.008\n')
})

/** Runs a fragment. What it logs and shows can be read while it runs. */
function play(name: (typeof names)[number], overrides: Partial<Surroundings> = {}) {
  const logged: unknown[] = []
  let shown = ''
  const ended = fragments[name]({
    computer,
    machine,
    ApiError,
    console: { log: (...values) => logged.push(values[0]) },
    screen: { write: (bytes) => (shown += Buffer.from(bytes).toString()), reset: () => {} },
    RFB: class {},
    element: null,
    ...overrides,
  })
  const result = { logged, shown: () => shown }
  return Object.assign(
    ended.then(() => result),
    result,
  )
}

/** Each fragment as a function of a module. A page's import becomes a parameter. */
function moduleOf(bodies: readonly string[]): string {
  const functions = bodies.map((body, index) => {
    const own = body.replace(/^import .*\n+/gm, '')
    const given = ['computer', 'machine', 'ApiError', 'console', 'screen', 'RFB', 'element']
    const taken = given.filter((one) => !new RegExp(`const ${one}\\b`).test(own))
    return `export async function ${names[index]}({ ${taken.join(', ')} }: Surroundings) {\n${own}}\n`
  })
  return `import type { Surroundings } from '${import.meta.filename}'\n${functions.join('\n')}`
}
