import type { IncusClient } from './client.ts'
import { createFreezer, type Freezer } from './freezer.ts'
import type { InstanceSettings } from './instance.ts'
import type { Instances } from './instances.ts'
import type { EngineConfig } from './engine-config.ts'
import { readHostCpus } from './prepare.ts'
import { openHostPool, type HostPool } from './disks/host-pool.ts'

/** The engine as the parts of the driver share it. What must be looked up once is looked up when needed. */
export type Engine = Instances & {
  readonly config: EngineConfig
  readonly freezer: Freezer
  /** What captures hold beyond their image, by their names, as far as it was measured. */
  readonly heldBytes: Map<string, number>
  readSettings(): Promise<InstanceSettings>
  /** Undefined where disks cannot be measured from here: then the engine's own limits must do. */
  openPool(): Promise<HostPool | undefined>
  /** After a change to the engine itself: what was looked up may be otherwise. */
  forget(): void
}

export function createEngine(
  client: IncusClient,
  config: EngineConfig,
  guestDir: string | undefined,
): Engine {
  const { project, pool, network } = config
  const hostCpus = once(() => readHostCpus(client))
  const hostPool = once(() => openHostPool(config))
  return {
    client,
    project,
    config,
    freezer: createFreezer({ client, project }, config.engineDir !== undefined),
    heldBytes: new Map(),
    readSettings: async () => ({ pool, network, guestDir, hostCpus: await hostCpus.get() }),
    openPool: () => hostPool.get(),
    forget() {
      hostCpus.forget()
      hostPool.forget()
    },
  }
}

/** What was found is kept; what failed is tried again. */
function once<T>(find: () => Promise<T>): { get(): Promise<T>; forget(): void } {
  let found: Promise<T> | undefined
  const forget = () => (found = undefined)
  return {
    get() {
      found ??= find()
      found.catch(forget)
      return found
    },
    forget,
  }
}
