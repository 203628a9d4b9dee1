import type { IncusClient } from './client.ts'
import { createFreezer, type Freezer } from './freezer.ts'
import type { InstanceSettings } from './instance.ts'
import type { Instances } from './instances.ts'
import type { EngineConfig } from './engine-config.ts'
import { readTarget, type Target } from './members.ts'
import { readHostCpus } from './prepare.ts'
import { openHostPool, type HostPool } from './disks/host-pool.ts'

/** The state that the parts of the driver share. Facts about the host are looked up once, on demand. */
export type Engine = Instances & {
  readonly config: EngineConfig
  readonly freezer: Freezer
  /** The measured content of captures beyond their image, by instance name. */
  readonly captureContentBytes: Map<string, number>
  readSettings(): Promise<InstanceSettings>
  /** Where instances are made. An engine that is reached over the network chooses by itself. */
  readTarget(): Promise<Target>
  /** Undefined where disks cannot be measured from here, and only the engine can set limits. */
  openPool(): Promise<HostPool | undefined>
  /** Drops cached facts after a change to the engine itself. */
  invalidate(): void
}

export function createEngine(
  client: IncusClient,
  config: EngineConfig,
  guestDir: string | undefined,
): Engine {
  const { project, pool, network, startScript } = config
  const isOnHost = config.engineDir !== undefined
  const hostCpus = memoize(() => readHostCpus(client))
  const hostPool = memoize(() => openHostPool(config))
  const target = memoize(async () => (isOnHost ? readTarget(client) : {}))
  return {
    client,
    project,
    isOnHost,
    config,
    freezer: createFreezer({ client, project, isOnHost }),
    captureContentBytes: new Map(),
    readSettings: async () => {
      return { pool, network, guestDir, startScript, hostCpus: await hostCpus.get() }
    },
    readTarget: () => target.get(),
    openPool: () => hostPool.get(),
    invalidate() {
      hostCpus.invalidate()
      hostPool.invalidate()
      target.invalidate()
    },
  }
}

/** Caches a result. A failed lookup is retried by the next call. */
function memoize<T>(find: () => Promise<T>): { get(): Promise<T>; invalidate(): void } {
  let found: Promise<T> | undefined
  const invalidate = () => (found = undefined)
  return {
    get() {
      found ??= find()
      found.catch(invalidate)
      return found
    },
    invalidate,
  }
}
