import type { Snapshot, SnapshotOrigin } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle, showMachine } from './machines.ts'
import { queryClient } from './query-client.ts'

export type SnapshotsFilter = {
  readonly machineId?: string | undefined
  readonly origin?: SnapshotOrigin | undefined
}

const pageSize = 50
/** Events tell how a capture ends; this is for a page whose socket is broken. */
const pollMs = 2_000

/** All snapshots of one machine, newest first. A plan limits their number. */
export function machineSnapshotsQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'snapshots'] as const,
    queryFn: ({ signal }) => computer.snapshots.list({ machineId, limit: 100, signal }).all(),
    refetchInterval: ({ state }) => pollWhileMoving(state.data),
  })
}

/** The snapshots of all machines, deleted ones included, newest first. */
export function snapshotsQuery(filter: SnapshotsFilter = {}) {
  return infiniteQueryOptions({
    queryKey: ['snapshots', filter] as const,
    queryFn: async ({ signal, pageParam: cursor }) =>
      computer.snapshots.list({ ...filter, limit: pageSize, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => pollWhileMoving(state.data?.pages.flatMap(({ data }) => data)),
  })
}

function pollWhileMoving(snapshots: readonly Snapshot[] | undefined): number | false {
  const isMoving = snapshots?.some(({ state }) => state === 'pending' || state === 'deleting')
  return isMoving ? pollMs : false
}

/** Requests a copy of a running machine's disk. Without a name the server chooses one. */
export async function takeSnapshot(machineId: string, name?: string): Promise<Snapshot> {
  const body = { machineId, ...(name !== undefined && { name }) }
  const snapshot = await computer.snapshots.create(body, { wait: false })
  await refreshSnapshots(machineId)
  return snapshot
}

export async function deleteSnapshot({
  id,
  machineId,
}: Pick<Snapshot, 'id' | 'machineId'>): Promise<void> {
  await computer.snapshots.delete(id, { wait: false })
  await refreshSnapshots(machineId)
}

/**
 * Returns a machine to one of its snapshots; the server keeps the current disk as "Before restore". Fails
 * with a `conflict` and its `holder` while somebody holds the input lease.
 */
export async function restoreSnapshot({
  id,
  machineId,
}: Pick<Snapshot, 'id' | 'machineId'>): Promise<void> {
  const machine = await machineHandle(machineId)
  await machine.restore(id, { wait: false })
  showMachine(machine.data)
  await refreshSnapshots(machineId)
}

async function refreshSnapshots(machineId: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(machineSnapshotsQuery(machineId)),
    queryClient.invalidateQueries({ queryKey: ['snapshots'] }),
  ])
}
