import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { networkName } from '../server/src/process.ts'
import { removeEngine } from './harness/engine-daemon.ts'
import {
  endHostServer,
  ownerClient,
  runComputer,
  startHostServer,
  type HostServer,
} from './harness/host-server.ts'
import { prepareServer } from './harness/server-folder.ts'

/*
 * `computer uninstall` on the real engine, beside a second server of this host with a machine of its own. The
 * second server must not notice, and its presence keeps what other tests share: lxcfs, the ids of root and the
 * command `computer`.
 */
const run = promisify(execFile)
let leaving: Awaited<ReturnType<typeof prepareServer>>
let staying: Awaited<ReturnType<typeof prepareServer>>
let server: HostServer

before(async () => {
  leaving = await prepareServer('uninstall')
  staying = await prepareServer('staying')
  server = await startHostServer(staying.env)
})
after(async () => {
  for (const { dataDir, env } of [leaving, staying]) {
    await runComputer(env, 'down')
    await removeEngine(dataDir, networkName(dataDir))
  }
})

test('an uninstalled server leaves nothing, and another one goes on', async () => {
  const other = await ownerClient(staying.env, staying.dataDir)
  const { id: kept } = await other.ok('POST', '/v1/machines', {})
  assert.equal(await other.run(kept, ['cat', '/proc/1/comm']), 'systemd\n')
  const shared = await readShared()

  const first = await startHostServer(leaving.env)
  const api = await ownerClient(leaving.env, leaving.dataDir)
  const { id } = await api.ok('POST', '/v1/machines', {})
  await api.run(id, ['true'])
  assert.ok((await findTraces(id)).length > 4, 'the traces of a running server are not found')

  // Its data are asked for, and nobody is there to answer.
  const refused = await runComputer(leaving.env, 'uninstall')
  assert.equal(refused.code, 1)
  assert.match(refused.output, /pass --yes/)
  assert.equal((await api.ok('GET', `/v1/machines/${id}`)).state, 'running')

  const ended = once(first.child, 'exit')
  const half = await runComputer(leaving.env, 'uninstall', '--keep-data')
  assert.equal(half.code, 0, half.output)
  assert.match(half.output, /stopped 1 machines/)
  assert.match(half.output, new RegExp(`left the data folder ${leaving.dataDir}`))
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(await findTraces(id), [])

  // The next start makes everything again, with the machine.
  await startHostServer(leaving.env)
  assert.equal((await api.ok('POST', `/v1/machines/${id}/start?wait=60`)).state, 'running')
  assert.match(await api.run(id, ['getent', 'hosts', 'localhost']), /localhost/)

  const { code, output } = await runComputer(leaving.env, 'uninstall', '--yes')
  assert.equal(code, 0, output)
  assert.match(output, /removed the network cmp\w+ with its rules/)
  assert.match(output, /left lxcfs, .* to another server of this host: .*the engine with process/)
  assert.match(output, /left the checkout \//)
  assert.deepEqual(await findTraces(id), [])
  // The harness has made this file itself.
  assert.deepEqual(await readdir(leaving.dataDir), ['owner.pid'])

  assert.deepEqual(await readShared(), shared)
  assert.equal(await other.run(kept, ['cat', '/proc/1/comm']), 'systemd\n')
  const again = await runComputer(leaving.env, 'uninstall', '--yes')
  assert.equal(again.code, 0, again.output)
  await endHostServer(server, 'SIGINT')
})

/** Everything on the host that names the server that leaves: its data folder, its bridge or its machine. */
async function findTraces(machineId: string): Promise<readonly string[]> {
  const { dataDir } = leaving
  const name = machineId.replace('_', '-')
  const isTrace = (line: string) =>
    [dataDir, networkName(dataDir), name].some((word) => line.includes(word))
  const places: Readonly<Record<string, Promise<readonly string[]>>> = {
    link: lines('ip', '-brief', 'link'),
    rule: lines('nft', 'list', 'ruleset'),
    mount: readFile('/proc/self/mounts', 'utf8').then((text) => text.split('\n')),
    disk: lines('losetup', '--list', '--noheadings', '--output', 'BACK-FILE'),
    'control group': lines('find', '/sys/fs/cgroup', '-type', 'd', '-name', 'lxc.*'),
    process: lines('ps', '-A', '-ww', '-o', 'args='),
    socket: lines('ss', '--no-header', '--listening', '--unix', '--udp', '--tcp', '--processes'),
    file: lines('find', '/run', '/etc', '/tmp', '-xdev', '-maxdepth', '3', '-name', '*omputer*'),
  }
  const found = await Promise.all(
    Object.entries(places).map(async ([place, list]) =>
      (await list).filter(isTrace).map((line) => `${place}: ${line}`),
    ),
  )
  return found.flat()
}

/** The files, links and rules that all servers of this host use. */
async function readShared(): Promise<Readonly<Record<string, unknown>>> {
  const network = networkName(staying.dataDir)
  return {
    ids: await readFile('/etc/subuid', 'utf8'),
    command: await run('readlink', ['/usr/local/bin/computer']).catch(() => null),
    lxcfs: await lines('pgrep', '--exact', 'lxcfs'),
    bridge: (await lines('ip', '-brief', 'link')).filter((line) => line.startsWith(network)),
    rules: (await lines('nft', 'list', 'ruleset')).filter((line) => line.includes(network)),
  }
}

async function lines(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(program, [...args], { maxBuffer: 64 * 2 ** 20 }).catch(
    (error: { stdout: string }) => error,
  )
  return stdout.split('\n')
}
