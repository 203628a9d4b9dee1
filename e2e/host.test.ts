import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { networkName } from '../server/src/process.ts'
import type { ApiClient } from './harness/api.ts'
import { findHostNode } from '../server/test/nodes.ts'
import { openTerminal, readGuide } from './harness/guide.ts'
import { eventually } from './harness/polling.ts'
import {
  endHostServer,
  ownerClient,
  runComputer,
  startHostServer,
  type HostServer,
} from './harness/host-server.ts'
import { removeEngine } from './harness/engine-daemon.ts'
import { prepareServer } from './harness/server-folder.ts'
import { readServerPid } from './harness/processes.ts'

/*
 * Start, stop and crash of a server on its host, and their effect on a machine. The tests share one data
 * folder and one machine, so each builds on those before it.
 */
let dataDir = ''
let env: NodeJS.ProcessEnv = {}
let server: Running
let id = ''

type Running = HostServer & { readonly api: ApiClient }

before(async () => {
  ;({ dataDir, env } = await prepareServer('host'))
  env['COMPUTER_TRACE'] = '1'
  server = await up()
  id = (await server.api.ok('POST', '/v1/machines', {})).id
})
after(async () => {
  await computer('down')
  await removeEngine(dataDir, networkName(dataDir))
})

test('a second start reports that a server is running', async () => {
  const { code, output } = await computer('up')
  assert.equal(code, 1)
  assert.match(output, /a server is already running on this data folder: process \d+, http:/)
})

test('Ctrl-C stops the processes in order and leaves the machine running', async () => {
  const started = await initStart()
  await endHostServer(server, 'SIGINT')
  const stopped = server.output().slice(server.output().indexOf('stopping;'))
  const order = [...stopped.matchAll(/stopping (\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(order, ['gateway', 'api', 'worker', 'engine', 'postgres'])
  assert.equal(server.child.exitCode, 0)

  server = await up()
  assert.equal(await state(), 'running')
  assert.equal(await initStart(), started)
})

test('after the whole server is killed, the next start takes over', async () => {
  const started = await initStart()
  const { pid } = JSON.parse(await readFile(join(dataDir, 'run', 'server.lock'), 'utf8'))
  const ended = once(server.child, 'exit')
  process.kill(pid as number, 'SIGKILL')
  await ended

  server = await up()
  assert.match(server.output(), /stopped the api of an earlier start/)
  assert.equal(await state(), 'running')
  assert.equal(await initStart(), started)
})

test('a killed service is restarted, and the restart is reported', async () => {
  process.kill(readServerPid(dataDir, 'api'), 'SIGKILL')
  await eventually('the death of the api is reported', async () =>
    /api was killed by SIGKILL .* restarting it/.test(server.output()),
  )
  await eventually('the api answers again', async () =>
    state().then(
      () => true,
      () => false,
    ),
  )
})

test('computer down stops the machine too, and it can be started again', async () => {
  const ended = once(server.child, 'exit')
  const { code, output } = await computer('down')
  assert.equal(code, 0, output)
  assert.match(output, /stopped 1 machines/)
  assert.ok(!(await readFile('/proc/self/mounts', 'utf8')).includes(` ${dataDir}/`))
  await ended

  server = await up()
  const { data } = await server.api.ok('GET', `/v1/machines/${id}/events`)
  assert.equal(await state(), 'stopped', JSON.stringify(data[0]))
  await server.api.ok('POST', `/v1/machines/${id}/start?wait=60`)
  assert.equal(await state(), 'running')
})

test('the commands that a start prints work as pasted', async (t) => {
  const printed = server.output().slice(server.output().lastIndexOf('Sign in, create a computer'))
  const commands = [...printed.matchAll(/^ {2}(\S.*)$/gm)].map(([, command]) => command!)
  assert.equal(commands.length, 3)
  const terminal = await openOperatorTerminal(t)
  const output = await terminal.paste(commands)
  assert.match(output, /Signed in to Home at .*\nfirst is running .*\nscreen\.png \(1280x800\)\n$/)
  const picture = await readFile(join(terminal.home, 'screen.png'))
  assert.equal(picture.subarray(1, 4).toString(), 'PNG')
})

test('a start prints the command for a sign-in link, which leads to the first account', async (t) => {
  // The output of a server under test is no terminal, so it has no link.
  assert.doesNotMatch(server.output(), /#token=/)
  const printed = /Nobody has an account yet\..*\n {2}(\S.*)\n/.exec(server.output())!
  const terminal = await openOperatorTerminal(t)
  const [link] = (await terminal.paste([printed[1]!])).split('\n')
  const { origin, pathname, hash } = new URL(link!)
  assert.equal(`${origin}${pathname}`, `http://127.0.0.1:${env['COMPUTER_API_PORT']}/welcome`)

  const account = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' }
  const body = JSON.stringify({ token: hash.slice('#token='.length), account })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${origin}/v1/auth/login-link`, { method: 'POST', headers, body })
  const { user, organization } = (await answer.json()) as Record<string, { name: string }>
  assert.deepEqual([answer.status, user?.name, organization?.name], [200, 'Ada', 'Home'])
  assert.equal((await server.api.ok('GET', '/v1/auth/me')).organization.name, 'Home')

  await endHostServer(server, 'SIGINT')
  server = await up()
  assert.doesNotMatch(server.output(), /Nobody has an account/)
})

test('the check of the host works as the guide tells', async (t) => {
  const [check] = await readGuide('docs/self-hosting.md')
  const terminal = await openOperatorTerminal(t)
  assert.match(await terminal.paste([check!]), /This host can run the server/)
})

test('the logs show where time went, as the guide tells', async (t) => {
  const [readSpans] = await readGuide('docs/operations.md', { from: '## Traces' })
  const terminal = await openOperatorTerminal(t)
  await server.api.run(id, ['true'])
  const lines = (await terminal.paste([readSpans!])).trim().split('\n')
  const spans = lines.map((line) => JSON.parse(line))
  assert.ok(spans.some(({ name, span }) => name === 'api' && span === 'guest POST /exec'))
  assert.ok(spans.every(({ ms, start_ms }) => ms >= 0 && start_ms <= Date.now()))
})

/** The operator's, with the host's Node. */
async function openOperatorTerminal(t: TestContext) {
  const defined = Object.entries(env).filter(([name]) => name.startsWith('COMPUTER_'))
  const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
  return openTerminal(t, nodeDir, Object.fromEntries(defined) as Record<string, string>)
}

async function state(): Promise<string> {
  return (await server.api.ok('GET', `/v1/machines/${id}`)).state
}

/** The start time of the machine's init, which differs after every boot. */
async function initStart(): Promise<string> {
  return eventually('the machine answers', () =>
    server.api.run(id, ['sh', '-c', 'cut -d" " -f22 /proc/1/stat']).catch(() => undefined),
  )
}

async function up(): Promise<Running> {
  const started = await startHostServer(env)
  return { ...started, api: await ownerClient(env, dataDir) }
}

function computer(...args: string[]) {
  return runComputer(env, ...args)
}
