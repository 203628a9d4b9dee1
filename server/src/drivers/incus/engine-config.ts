import type { IncusClient } from './client.ts'
import { EngineError } from './replies.ts'

/** The names and places that the driver uses in the engine. */
export type EngineConfig = {
  readonly project: string
  readonly pool: string
  readonly network: string
  /** INCUS_DIR of an engine on this host. */
  readonly engineDir: string | undefined
  /** Others run that engine, and it may be the member of a cluster. */
  readonly isShared: boolean
  /** A script that LXC runs at each start of a machine, where the engine has it in no template. */
  readonly startScript: string | undefined
  /** A block device or btrfs folder for the pool. Without it the pool is in a sparse file. */
  readonly poolSource: string | undefined
  /** Size of that file in GiB. Defaults to four fifths of the free disk. */
  readonly poolSizeGib: number | undefined
  /** The gateway's address and prefix, such as `10.1.0.1/20`. Without it a free network is chosen. */
  readonly subnet: string | undefined
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

/** Fills in what the options leave out. */
export function completeConfig(options: Partial<EngineConfig>): EngineConfig {
  return {
    project: options.project ?? 'computer',
    pool: options.pool ?? 'default',
    network: options.network ?? 'computer0',
    engineDir: options.engineDir,
    isShared: options.isShared ?? false,
    startScript: options.startScript,
    poolSource: options.poolSource,
    poolSizeGib: options.poolSizeGib,
    subnet: options.subnet,
    warn: options.warn ?? (() => {}),
  }
}

type Shown = { readonly managed?: boolean; readonly status?: string }

/** Creates an object unless it exists, also when another caller creates it at the same time. */
export async function ensure(
  client: IncusClient,
  path: string,
  collection: string,
  body: object | (() => Promise<object>),
): Promise<void> {
  if (await exists(client, path)) return
  const made = typeof body === 'function' ? await body() : body
  try {
    await client.change('POST', collection, { body: made })
  } catch (error) {
    if (!(await exists(client, path))) throw error
  }
}

/**
 * A link of the host that the engine does not manage is shown like a network, but is none. In a cluster, an object is
 * pending until it has been made on all members.
 */
async function exists(client: IncusClient, path: string): Promise<boolean> {
  try {
    const { managed, status } = await client.get<Shown>(path)
    return managed !== false && status !== 'Pending' && status !== 'Errored'
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return false
    throw error
  }
}
