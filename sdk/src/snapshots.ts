import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query } from './transport.ts'
import { waitFor } from './waiting.ts'
import type { Snapshot } from './wire/records.ts'

export type SnapshotFilter = Query<'GET /v1/snapshots'> & CallOptions

/** The snapshots of the organization. */
export class Snapshots {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Captures the disk of a running machine, which keeps running. Resolves when it is ready. */
  async create(body: Body<'POST /v1/snapshots'>, options: WaitOptions = {}): Promise<Snapshot> {
    const { signal } = options
    const input = { body, creates: true } as const
    const snapshot = await this.#client.transport.call('POST /v1/snapshots', input, { signal })
    return options.wait === false ? snapshot : this.waitUntilReady(snapshot.id, options)
  }

  /** Newest first. */
  list({ signal, ...query }: SnapshotFilter = {}): List<Snapshot> {
    return this.#client.transport.list('GET /v1/snapshots', { query }, { signal })
  }

  async get(snapshotId: string, options: CallOptions = {}): Promise<Snapshot> {
    const params = { snapshotId }
    return this.#client.transport.call('GET /v1/snapshots/{snapshot_id}', { params }, options)
  }

  /** Deletes the newest snapshot of a machine. Resolves when it is gone. */
  async delete(snapshotId: string, options: WaitOptions = {}): Promise<void> {
    const { signal } = options
    const deleted = await this.#client.transport.call(
      'DELETE /v1/snapshots/{snapshot_id}',
      { params: { snapshotId } },
      { signal },
    )
    if (options.wait === false || !deleted) return
    await waitFor(
      this.#client,
      {
        what: `the deletion of snapshot ${snapshotId}`,
        machineId: deleted.machineId,
        look: () => isGone(() => this.get(snapshotId, { signal })),
      },
      options,
    )
  }

  /** Resolves when it is ready; `operation_failed` if it could not be taken. */
  async waitUntilReady(snapshotId: string, options: WaitOptions = {}): Promise<Snapshot> {
    const first = await this.get(snapshotId, options)
    const look = async () => {
      const snapshot = await this.get(snapshotId, options)
      if (snapshot.state === 'error') throw failed(`snapshot ${snapshotId}`, snapshot.error)
      return snapshot.state === 'pending' ? undefined : snapshot
    }
    const what = `snapshot ${snapshotId}`
    return waitFor(this.#client, { what, machineId: first.machineId, look }, options)
  }
}

export function failed(what: string, reason: string | null): ApiError {
  return new ApiError('operation_failed', `${what} failed: ${reason ?? 'no reason is known'}`)
}

/** True once reading it finds nothing. */
export async function isGone(read: () => Promise<unknown>): Promise<true | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return true
    throw error
  }
}
