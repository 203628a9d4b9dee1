import type { ImageId } from '@computer/contract'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { globSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { poolFolder } from '../../server/src/drivers/incus/disks/host-pool.ts'
import type { IncusOptions } from '../../server/src/drivers/incus/driver.ts'
import type { ImageFiles, MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import { writeStartScript } from '../../server/src/host/engine-lxc.ts'
import { engineDirectory } from '../../server/src/host/engine.ts'
import { networkName } from '../../server/src/process.ts'
import { makeDataDir } from './data-folder.ts'
import { removeEngine, removeProject, spawnEngine } from './engine-daemon.ts'
import { copyEngineTemplate, templatePoolGib, unpackImage } from './engine-template.ts'
import { imageFiles } from './machine-image.ts'

/**
 * A real engine for tests: a daemon, pool, bridge and subnet of its own in a data folder,
 * all of which its disposal removes. Engines of killed test runs are removed first.
 *
 * With COMPUTER_TEST_ENGINE_SOCKET that engine is used and kept, which others have started for tests; only the projects
 * that the test named are removed.
 */
export type TestEngine = AsyncDisposable & {
  readonly client: IncusClient
  readonly engineDir: string
  readonly imageId: ImageId
  readonly imageFiles: ImageFiles
  /** The options of a driver for this engine. Each test file uses a project of its own. */
  optionsOf(project: string): IncusOptions & { readonly project: string; readonly network: string }
  /** A new machine with a uid range of its own. */
  makeSpec(): MachineSpec
}

export async function startTestEngine(
  options: { readonly poolSizeGib?: number } = {},
): Promise<TestEngine> {
  const socketPath = process.env['COMPUTER_TEST_ENGINE_SOCKET']
  // A test that needs a pool of a certain size gets an engine of its own.
  if (socketPath !== undefined && options.poolSizeGib === undefined) return openEngine(socketPath)
  const dataDir = await makeDataDir('engine')
  const network = networkName(dataDir)
  const { poolSizeGib = templatePoolGib } = options
  if (poolSizeGib === templatePoolGib) await copyEngineTemplate(dataDir)
  await spawnEngine(dataDir)
  const place = { network, poolSizeGib, engineDir: engineDirectory(dataDir) }
  return describeEngine(place, () => removeEngine(dataDir, network))
}

async function openEngine(socketPath: string): Promise<TestEngine> {
  const engineDir = dirname(socketPath)
  const startScript = await writeStartScript(join(engineDir, 'lxc-of-tests'))
  const place = { engineDir, network: 'computer0', poolSizeGib: 20, isShared: true, startScript }
  await unpackImage({ access: { socketPath }, ...place })
  // Several tests have the engine at the same time.
  const owner = `-${randomBytes(4).toString('hex')}`
  const remove = async (client: IncusClient, projects: ReadonlySet<string>) => {
    for (const project of projects) await removeProject(client, project)
  }
  return describeEngine(place, remove, owner)
}

function describeEngine(
  place: Pick<IncusOptions, 'isShared' | 'startScript'> & {
    readonly engineDir: string
    readonly network: string
    readonly poolSizeGib: number
  },
  remove: (client: IncusClient, projects: ReadonlySet<string>) => Promise<void>,
  owner = '',
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
    optionsOf(name) {
      const project = `${name}${owner}`
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

/** Spares each boot of a machine some seconds of a core, and keeps its disk as the test leaves it. */
export function leaveOutDesktop({ engineDir }: TestEngine): void {
  const images = globSync(join(poolFolder(engineDir, 'default'), 'images', '*'))
  assert.equal(images.length, 1, 'the pool has the image')
  for (const image of images) {
    const setReadOnly = (value: string) =>
      execFileSync('btrfs', ['property', 'set', '-f', '-t', 'subvol', image, 'ro', value])
    setReadOnly('false')
    const wants = 'rootfs/etc/systemd/system/multi-user.target.wants'
    rmSync(join(image, wants, 'computer-session.service'), { force: true })
    setReadOnly('true')
  }
}
