import type { ImageId } from '@computer/contract'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { chmod, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readConfig } from '../../server/src/config.ts'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import type { IncusOptions } from '../../server/src/drivers/incus/driver.ts'
import { removeRulesOfGoneBridges } from '../../server/src/drivers/incus/host-firewall.ts'
import { listInstances, removeInstance } from '../../server/src/drivers/incus/instances.ts'
import type { ImageFiles, MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import { ensureLxcfs } from '../../server/src/host/engine-lxcfs.ts'
import * as host from '../../server/src/host/engine.ts'

const run = promisify(execFile)

/**
 * A real engine for tests: a daemon, pool, bridge and subnet of its own under the temporary folder,
 * all of which go when it is disposed of. What a test run that was killed left behind goes first.
 *
 * With COMPUTER_TEST_ENGINE_SOCKET (and COMPUTER_TEST_ENGINE_NETWORK) the engine there is used and
 * kept; only the projects that were asked for here are removed.
 */
export type TestEngine = AsyncDisposable & {
  readonly client: IncusClient
  readonly engineDir: string
  readonly imageId: ImageId
  readonly imageFiles: ImageFiles
  /** What a driver of this engine is made with. Each test file takes a project of its own. */
  optionsOf(project: string): IncusOptions & { readonly project: string; readonly network: string }
  /** A machine that was never made before, with a uid range that no other has. */
  makeSpec(): MachineSpec
}

export async function startTestEngine(
  options: { readonly poolSizeGib?: number } = {},
): Promise<TestEngine> {
  const socketPath = process.env['COMPUTER_TEST_ENGINE_SOCKET']
  // A pool of a certain size is made for the test that asks for it.
  if (socketPath !== undefined && options.poolSizeGib === undefined) {
    const network = process.env['COMPUTER_TEST_ENGINE_NETWORK'] ?? 'computer0'
    const place = { engineDir: dirname(socketPath), network, poolSizeGib: 20 }
    return describeEngine(place, async (client, projects) => {
      for (const project of projects) await removeProject(client, project)
    })
  }
  await removeStaleEngines()
  const dataDir = await mkdtemp(join(tmpdir(), folderPrefix))
  const network = `ct${randomBytes(5).toString('hex')}`
  await writeFile(join(dataDir, 'owner.json'), JSON.stringify({ pid: process.pid, network }))
  await spawnEngine(dataDir)
  const place = { network, poolSizeGib: 20, ...options, engineDir: host.engineDirectory(dataDir) }
  return describeEngine(place, () => removeEngine(dataDir, network))
}

const folderPrefix = 'computer-engine-'
const imageDir = join(readConfig(process.env).imageCacheDir, hashRecipe())
const imageFiles: ImageFiles = {
  metadataPath: join(imageDir, 'metadata.tar'),
  rootfsPath: join(imageDir, 'rootfs.tar.zst'),
}

/** The image that the set-up built of today's recipe. */
function hashRecipe(): string {
  const build = fileURLToPath(new URL('../../image/build.sh', import.meta.url))
  return execFileSync('bash', [build, '--hash'], { encoding: 'utf8' }).trim()
}

function describeEngine(
  place: { readonly engineDir: string; readonly network: string; readonly poolSizeGib: number },
  remove: (client: IncusClient, projects: ReadonlySet<string>) => Promise<void>,
): TestEngine {
  const { engineDir } = place
  const access = { socketPath: join(engineDir, 'unix.socket') }
  const client = new IncusClient(access)
  const projects = new Set<string>()
  const firstUid = 600_000_000 + randomInt(0, 4_000) * 65_536
  let machines = 0
  return {
    client,
    engineDir,
    imageId: 'img_0000000000000000000000test',
    imageFiles,
    optionsOf(project) {
      projects.add(project)
      return { access, project, ...place }
    },
    makeSpec() {
      const id = `mch_${randomBytes(13).toString('hex')}` as const
      const uidBase = firstUid + machines++ * 65_536
      const imageId = 'img_0000000000000000000000test'
      const size = { cpu: 1, memoryMb: 1024, diskGb: 2 }
      return { id, generation: 1, imageId, captureId: null, ...size, uidBase }
    },
    async [Symbol.asyncDispose]() {
      await remove(client, projects)
      client[Symbol.dispose]()
    },
  }
}

async function spawnEngine(dataDir: string): Promise<void> {
  // The machines' root users must be able to pass through.
  await chmod(dataDir, 0o711)
  await ensureLxcfs()
  await host.prepareEngineFiles(dataDir)
  const { command, args, env } = host.engineCommand(dataDir)
  const log = await open(join(dataDir, 'daemon.log'), 'a')
  const stdio = ['ignore', log.fd, log.fd] as const
  // It must outlive a test run that is broken off, so that what it holds can be removed in order.
  spawn(command, args, { env, cwd: '/', detached: true, stdio: [...stdio] }).unref()
  await log.close()
  await host.waitEngineReady(dataDir)
}

/** Test engines whose owner is gone. */
async function removeStaleEngines(): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    if (!entry.startsWith(folderPrefix)) continue
    const dataDir = join(tmpdir(), entry)
    const owner = await readFile(join(dataDir, 'owner.json'), 'utf8').catch(() => undefined)
    if (owner === undefined) continue
    const { pid, network } = JSON.parse(owner) as { pid: number; network: string }
    if (await isAlive(pid)) continue
    // Ours to remove now: test files start at once, and one is enough.
    await writeFile(join(dataDir, 'owner.json'), JSON.stringify({ pid: process.pid, network }))
    await removeEngine(dataDir, network)
  }
}

/** Ends an engine and all it holds. It is started once more if it was down. */
export async function removeEngine(dataDir: string, network: string): Promise<void> {
  // Only the daemon knows all that it made.
  if ((await host.findEngine(dataDir)) === undefined) await spawnEngine(dataDir)
  if ((await host.findEngine(dataDir)) === undefined) await spawnEngine(dataDir)
  const client = new IncusClient({ socketPath: host.engineSocketPath(dataDir) })
  const projects = await client.get<{ name: string }[]>('/1.0/projects', {
    query: { recursion: 1 },
  })
  for (const { name } of projects) await removeProject(client, name)
  for (const kind of ['images', 'storage-pools'] as const) {
    const urls = await client.get<string[] | null>(`/1.0/${kind}`)
    for (const url of urls ?? []) await client.change('DELETE', url)
  }
  for (const path of [`/1.0/networks/${network}`, `/1.0/network-acls/${network}-guests`]) {
    await client.change('DELETE', path).catch(() => {})
  }
  client[Symbol.dispose]()
  await removeRulesOfGoneBridges()
  await host.stopEngine(dataDir)
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${dataDir}/`))
  for (const path of mounts.reverse()) await run('umount', ['--lazy', path])
  await rm(dataDir, { recursive: true, force: true })
}

async function removeProject(client: IncusClient, project: string): Promise<void> {
  const instances = await listInstances({ client, project }).catch(() => [])
  for (const { name } of instances) await removeInstance({ client, project }, name)
  if (project !== 'default')
    await client.change('DELETE', `/1.0/projects/${project}`).catch(() => {})
}

/** Not one that has ended and that nobody has taken note of. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return /^State:\t[^ZX]/m.test(status)
}
