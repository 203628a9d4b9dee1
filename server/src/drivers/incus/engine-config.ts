import type { IncusClient } from './client.ts'
import { EngineError } from './replies.ts'

/** Where in the engine everything of ours is. */
export type EngineConfig = {
  readonly project: string
  readonly pool: string
  readonly network: string
  /** INCUS_DIR, where the engine is ours and on this host. */
  readonly engineDir: string | undefined
  /** A block device or btrfs folder for the pool. Without it a sparse file holds the pool. */
  readonly poolSource: string | undefined
  /** Size of that file in GiB. Without it four fifths of the free disk. */
  readonly poolSizeGib: number | undefined
  /** The gateway's address and prefix, `10.1.0.1/20`. Without it a free one is looked for. */
  readonly subnet: string | undefined
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

/** Creates what is not there. Of two that do so at once, the second finds it made. */
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

async function exists(client: IncusClient, path: string): Promise<boolean> {
  try {
    await client.get(path)
    return true
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return false
    throw error
  }
}
