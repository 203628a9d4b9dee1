import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query } from './transport.ts'
import { waitFor, withTimeLimit } from './waiting.ts'
import type { Snapshot } from './wire/records.ts'

export type SnapshotFilter = Query<'GET /v1/snapshots'> & CallOptions

/** The snapshots of the organization. */
export class Snapshots {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Captures the disk of a running machine, which keeps running. Resolves once the snapshot is ready. */
  async create(body: Body<'POST /v1/snapshots'>, options: WaitOptions = {}): Promise<Snapshot> {
    return withTimeLimit(`a snapshot of ${body.machineId}`, options, async (bounded) => {
      const { signal, wait } = bounded
      const input = { body, creates: true } as const
      const snapshot = await this.#client.transport.call('POST /v1/snapshots', input, { signal })
      return wait === false ? snapshot : this.waitUntilReady(snapshot.id, bounded)
    })
  }

  /** Newest first. */
  list({ signal, ...query }: SnapshotFilter = {}): List<Snapshot> {
    return this.#client.transport.list('GET /v1/snapshots', { query }, { signal })
  }

  async get(snapshotId: string, options: CallOptions = {}): Promise<Snapshot> {
    const params = { snapshotId }
    return this.#client.transport.call('GET /v1/snapshots/{snapshot_id}', { params }, options)
  }

  /** Deletes the newest snapshot of a machine. Resolves once it is gone. */
  async delete(snapshotId: string, options: WaitOptions = {}): Promise<void> {
    await withTimeLimit(`the deletion of ${snapshotId}`, options, async (bounded) => {
      const { signal, wait } = bounded
      const params = { snapshotId }
      const route = 'DELETE /v1/snapshots/{snapshot_id}'
      const deleted = await this.#client.transport.call(route, { params }, { signal })
      if (wait === false || !deleted) return
      const { machineId } = deleted
      const check = () => isGone(() => this.get(snapshotId, { signal }))
      await waitFor(this.#client, { machineId, check }, bounded)
    })
  }

  /** Resolves once it is ready; fails with `operation_failed` if the capture failed. */
  async waitUntilReady(snapshotId: string, options: WaitOptions = {}): Promise<Snapshot> {
    return withTimeLimit(`snapshot ${snapshotId}`, options, async (bounded) => {
      const { machineId } = await this.get(snapshotId, bounded)
      const check = async () => {
        const snapshot = await this.get(snapshotId, bounded)
        if (snapshot.state === 'error') throw failed(`snapshot ${snapshotId}`, snapshot.error)
        return snapshot.state === 'pending' ? undefined : snapshot
      }
      return waitFor(this.#client, { machineId, check }, bounded)
    })
  }
}

/** The snapshots of one machine. */
export class MachineSnapshots {
  readonly #all: Snapshots
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#all = new Snapshots(client)
    this.#machineId = machineId
  }

  /** Captures its current disk while it keeps running. Resolves once the snapshot is ready. */
  async create(
    options: WaitOptions & { readonly name?: string | undefined } = {},
  ): Promise<Snapshot> {
    const { name, ...rest } = options
    return this.#all.create({ machineId: this.#machineId, name }, rest)
  }

  /** Newest first. */
  list(filter: Omit<SnapshotFilter, 'machineId'> = {}): List<Snapshot> {
    return this.#all.list({ ...filter, machineId: this.#machineId })
  }

  /** Those that hold a disk or are about to, newest first: they stay when the machine is deleted. */
  async kept(options: CallOptions = {}): Promise<readonly Snapshot[]> {
    const all = await this.list({ limit: 100, ...options }).all()
    return all.filter(({ state }) => state === 'ready' || state === 'pending')
  }

  /** Deletes its newest snapshot. Resolves once that is gone. */
  async delete(snapshotId: string, options: WaitOptions = {}): Promise<void> {
    await this.#all.delete(snapshotId, options)
  }
}

export function failed(subject: string, reason: string | null): ApiError {
  return new ApiError('operation_failed', `${subject} failed: ${reason ?? 'unknown reason'}`)
}

/** True once the read fails with `not_found`. */
export async function isGone(read: () => Promise<unknown>): Promise<true | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return true
    throw error
  }
}
