import { execFile, spawn } from 'node:child_process'
import { chmod, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { removeRulesOfGoneBridges } from '../../server/src/drivers/incus/host-firewall.ts'
import { listInstances, removeInstance } from '../../server/src/drivers/incus/instances.ts'
import { prepareKernel } from '../../server/src/host/engine-kernel.ts'
import * as host from '../../server/src/host/engine.ts'
import { withSharedLimits } from '../../server/src/host/kernel-limits.ts'

const run = promisify(execFile)

/** Starts the engine daemon of a data folder and waits until it accepts calls. */
export async function spawnEngine(dataDir: string): Promise<void> {
  // The machines' root users must be able to traverse the folder.
  await chmod(dataDir, 0o711)
  await prepareKernel()
  await host.prepareEngineFiles(dataDir)
  const { command, args, env } = host.engineCommand(dataDir)
  const log = await open(join(dataDir, 'daemon.log'), 'a')
  const stdio = ['ignore', log.fd, log.fd] as const
  // The daemon outlives an interrupted test run, so that the next run can remove its resources in order.
  const [program, ...rest] = withSharedLimits([command, ...args])
  spawn(program!, rest, { env, cwd: '/', detached: true, stdio: [...stdio] }).unref()
  await log.close()
  await host.waitEngineReady(dataDir)
}

/** Removes an engine with everything that it created. Starts the daemon for this if necessary. */
export async function removeEngine(dataDir: string, network: string): Promise<void> {
  // Only the daemon knows everything that it created.
  if ((await host.findEngine(dataDir)) === undefined) await spawnEngine(dataDir)
  const client = new IncusClient({ socketPath: host.engineSocketPath(dataDir) })
  const projects = await client.get<{ name: string }[]>('/1.0/projects', {
    query: { recursion: 1 },
  })
  for (const { name } of projects) await removeProject(client, name)
  await removeNetwork(client, network)
  client[Symbol.dispose]()
  await removeRulesOfGoneBridges()
  await stopDaemon(dataDir)
  await rm(dataDir, { recursive: true, force: true })
}

/** Deletes a project with its instances. The project `default` stays. */
export async function removeProject(client: IncusClient, project: string): Promise<void> {
  const instances = await listInstances({ client, project }).catch(() => [])
  for (const { name } of instances) await removeInstance({ client, project }, name)
  if (project !== 'default') {
    await client.change('DELETE', `/1.0/projects/${project}`).catch(() => {})
  }
}

export async function removeNetwork(client: IncusClient, network: string): Promise<void> {
  for (const path of [`/1.0/networks/${network}`, `/1.0/network-acls/${network}-guests`]) {
    await client.change('DELETE', path).catch(() => {})
  }
}

/** Ends the daemon and unmounts what it leaves mounted. The files stay. */
export async function stopDaemon(dataDir: string): Promise<void> {
  await host.stopEngine(dataDir)
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${dataDir}/`))
  for (const path of mounts.reverse()) await run('umount', ['--lazy', path])
}
