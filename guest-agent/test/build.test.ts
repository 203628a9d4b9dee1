import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildGuestAgent } from '../build.ts'
import { compileProgram, readProgram, runProgram } from '../src/built/program.ts'

/* The tests share one folder of a build, so each leaves it whole. */
let folder = ''
let socketPath = ''

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'computer-build-'))
  socketPath = join(folder, 'agent.sock')
  await buildGuestAgent(folder)
})
after(() => rm(folder, { recursive: true, force: true }))

test('a built agent answers with its version', async (t) => {
  startAgent(t)
  const health = (await ask('/health')) as { version: string }
  assert.match(health.version, /^\d+\.\d+\.\d+\+[0-9a-f]{12}$/)
})

test('the agent’s Node accepts the code cache of a build', async () => {
  const program = new URL('../src/built/program.ts', import.meta.url)
  const script = `import { compileProgram, readProgram } from ${JSON.stringify(program)}
    console.log(compileProgram(readProgram(${JSON.stringify(await programPath())})).cachedDataRejected)`
  const [node, ...flags] = await readCommand()
  const args = [...flags.slice(0, -1), '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(node!, args)
  assert.equal(stdout, 'false\n')
})

test('a program that was read needs no file of its own any more', async (t) => {
  const path = await programPath()
  const program = readProgram(path)
  await copyFile(path, `${path}.kept`)
  t.after(() => copyFile(`${path}.kept`, path).then(() => rm(`${path}.kept`)))
  await rm(path)
  assert.equal(typeof runProgram(program, compileProgram(program)).serveAgent, 'function')
})

test('an interrupted build leaves the earlier agent, and the next build keeps it for one more', async (t) => {
  const [current, main] = [await programPath(), join(folder, 'agent.mjs')]
  const earlier = join(folder, 'agent-0123456789abcdef.js')
  await copyFile(current, earlier)
  const text = await readFile(main, 'utf8')
  await writeFile(main, text.replace(nameOf(current), nameOf(earlier)))
  await rm(current)
  await mkdir(`${main}.partial`)

  await assert.rejects(buildGuestAgent(folder), { code: 'EISDIR' })
  startAgent(t)
  await ask('/health')

  await rm(`${main}.partial`, { recursive: true })
  await buildGuestAgent(folder)
  assert.ok(existsSync(current) && existsSync(`${current}.cache`) && existsSync(earlier))
  assert.equal(await readFile(main, 'utf8'), text)
  await buildGuestAgent(folder)
  assert.deepEqual(await programs(), [current])
})

test('a folder without a code cache has a working agent, and the next build makes the cache', async (t) => {
  const cache = `${await programPath()}.cache`
  await rm(cache)
  startAgent(t)
  await ask('/health')
  await buildGuestAgent(folder)
  assert.ok(existsSync(cache))
})

/** The command of the launcher, with its Node, flags and main file in this folder. */
async function readCommand(): Promise<string[]> {
  const launcher = await readFile(join(folder, 'bin', 'agent'), 'utf8')
  const command = /^exec (.*)$/m.exec(launcher)![1]!
  return command.replaceAll('/opt/computer', folder).split(' ')
}

function startAgent(t: TestContext): void {
  const script = `exec sh -c "$(sed "s|/opt/computer|${folder}|g" ${folder}/bin/agent)"`
  const env = { ...process.env, COMPUTER_AGENT_SOCKET: socketPath }
  const agent = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  t.after(async () => {
    agent.kill('SIGKILL')
    await once(agent, 'exit')
  })
}

async function ask(path: string): Promise<unknown> {
  const createConnection = () => connectSocket(socketPath)
  for (;;) {
    const session = connect('http://agent', { createConnection })
    session.on('error', () => {})
    try {
      const stream = session.request({ ':path': path })
      const [headers] = await once(stream, 'response')
      assert.equal(headers[':status'], 200)
      return await json(stream)
    } catch (error) {
      const { code } = (error as { cause?: { code?: string } }).cause ?? {}
      if (code !== 'ENOENT' && code !== 'ECONNREFUSED') throw error
      await pause(20)
    } finally {
      session.destroy()
    }
  }
}

async function programs(): Promise<string[]> {
  const names = await readdir(folder)
  return names.filter((name) => /^agent-.*\.js$/.test(name)).map((name) => join(folder, name))
}

async function programPath(): Promise<string> {
  const [path, ...more] = await programs()
  assert.deepEqual(more, [])
  return path!
}

function nameOf(path: string): string {
  return path.slice(folder.length + 1)
}
