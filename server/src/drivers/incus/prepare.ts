import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DriverError } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { deniedCalls, deniedCallsKey } from './denied-calls.ts'
import { hideFromGuests, poolFolder } from './disks/host-pool.ts'
import { enableSimpleQuotas } from './disks/quotas.ts'
import { ensure, type EngineConfig } from './engine-config.ts'
import { limitGuests } from './host-firewall.ts'
import { refOf } from './instance.ts'
import { listInstances } from './instances.ts'
import { ensureNetwork } from './network.ts'

/** Configures the engine. Changes nothing that is already right. */
export async function prepareEngine(client: IncusClient, config: EngineConfig): Promise<void> {
  checkNames(config)
  await checkServer(client)
  if (config.engineDir !== undefined && !config.isShared) {
    // The minutes that a stopping daemon waits for streams to guests. 1 is the minimum.
    await client.change('PATCH', '/1.0', { body: { config: { 'core.shutdown_timeout': '1' } } })
  }
  await (config.isShared ? requirePool(client, config) : makePool(client, config))
  if (config.engineDir !== undefined) {
    await enableSimpleQuotas(config.engineDir, config)
    await hideFromGuests(poolFolder(config.engineDir, config.pool))
  }
  const gateway = await ensureNetwork(client, config)
  if (config.engineDir !== undefined) await limitGuests(config.network, gateway)
  await ensureProject(client, config.project)
  await renewDeniedCalls(client, config)
}

/** Fails if the pool cannot be used. This exercises the engine's database and its disk. */
export async function checkPool(client: IncusClient, pool: string): Promise<void> {
  const { status } = await client.get<{ status: string }>(`/1.0/storage-pools/${pool}`)
  if (status !== 'Created') {
    throw new DriverError(`the engine's storage pool is ${status.toLowerCase()}`, {
      retryable: true,
    })
  }
}

export async function readHostCpus(client: IncusClient): Promise<number> {
  const { cpu } = await client.get<{ cpu: { total: number } }>('/1.0/resources')
  return cpu.total
}

function checkNames({ project, pool, network }: EngineConfig): void {
  const isName = [project, pool].every((name) => /^[a-z][a-z0-9-]{0,40}$/.test(name))
  if (isName && /^[a-z][a-z0-9]{0,14}$/.test(network)) return
  throw new DriverError(
    `invalid engine names: project ${project}, pool ${pool}, network ${network}`,
    {
      retryable: false,
    },
  )
}

type Server = {
  readonly auth: string
  readonly environment: {
    readonly server: string
    readonly server_version: string
    readonly kernel_features: Readonly<Record<string, string>>
  }
}

async function checkServer(client: IncusClient): Promise<void> {
  const { auth, environment } = await client.get<Server>('/1.0')
  const refuse = (why: string) => new DriverError(why, { retryable: false })
  if (auth !== 'trusted') throw refuse('the engine does not trust our certificate')
  const major = Number.parseInt(environment.server_version, 10)
  if (environment.server !== 'incus' || !(major >= 6)) {
    const found = `${environment.server} ${environment.server_version}`
    throw refuse(`the engine is ${found}; Incus 6.0 or later is needed`)
  }
  if (environment.kernel_features['idmapped_mounts'] !== 'true') {
    throw refuse('the kernel of the engine lacks idmapped mounts')
  }
}

async function ensureProject(client: IncusClient, name: string): Promise<void> {
  // Only the instances are separate; pool, network and images are shared with other projects.
  const config = {
    'features.images': 'false',
    'features.profiles': 'false',
    'features.networks': 'false',
    'features.networks.zones': 'false',
    'features.storage.volumes': 'false',
    'features.storage.buckets': 'false',
  }
  await ensure(client, `/1.0/projects/${name}`, '/1.0/projects', { name, config })
}

/** Gives machines that an earlier version made today's list. It takes effect at their next start. */
async function renewDeniedCalls(
  client: IncusClient,
  { project, warn }: EngineConfig,
): Promise<void> {
  for (const { name, config } of await listInstances({ client, project })) {
    if (refOf(name) === undefined || config[deniedCallsKey] === deniedCalls) continue
    const body = { config: { [deniedCallsKey]: deniedCalls } }
    try {
      await client.change('PATCH', `/1.0/instances/${name}`, { query: { project }, body })
    } catch (error) {
      warn('a machine keeps an old list of denied calls', { name, reason: String(error) })
    }
  }
}

/** An operator who runs an engine decides on its disks. */
async function requirePool(client: IncusClient, { pool }: EngineConfig): Promise<void> {
  const pools = await client.get<{ name: string; driver: string }[]>('/1.0/storage-pools', {
    query: { recursion: 1 },
  })
  const found = pools.find(({ name }) => name === pool)
  if (found?.driver === 'btrfs') return
  const problem = found ? `is of the kind ${found.driver}` : 'does not exist'
  throw new DriverError(
    `the engine's storage pool ${pool} ${problem}: set COMPUTER_ENGINE_POOL to a pool of btrfs`,
    { retryable: false },
  )
}

async function makePool(client: IncusClient, config: EngineConfig): Promise<void> {
  await ensure(client, `/1.0/storage-pools/${config.pool}`, '/1.0/storage-pools', async () => ({
    name: config.pool,
    driver: 'btrfs',
    config: {
      // Only the engine removes subvolumes, so users in guests need no permission to.
      'btrfs.mount_options': 'noatime',
      ...(config.poolSource === undefined
        ? { size: `${config.poolSizeGib ?? (await chooseSizeGib(config))}GiB` }
        : { source: config.poolSource }),
    },
  }))
}

async function chooseSizeGib(config: EngineConfig): Promise<number> {
  if (config.engineDir === undefined) return 50
  const { bavail, bsize } = await statfs(dirname(config.engineDir))
  return Math.max(5, Math.floor((bavail * bsize * 0.8) / 2 ** 30))
}
