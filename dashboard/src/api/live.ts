import { ApiError, type OrganizationEvent } from '@computer/sdk'
import { computer } from './client.ts'
import { machineQuery, patchMachine } from './machines.ts'
import { queryClient } from './query-client.ts'
import { sessionQuery } from './session.ts'

/*
 * The events of the organization, over one socket. An event changes the state of its machine at once if it
 * is newer than what is shown, and has the queries of that machine read again. It never adds a row to a
 * list: a list that gained a machine is read again, so no machine appears twice.
 */

/** At most one refresh of a machine, or of the lists, in this time. */
const refreshMs = 1_000

const lastSequences = new Map<string, number>()
const refreshTimers = new Map<string, ReturnType<typeof setTimeout>>()

/** Follows the events until the signal is aborted. */
export async function followEvents(signal: AbortSignal): Promise<void> {
  try {
    for await (const event of computer.events.subscribe({ signal })) applyEvent(event)
  } catch (error) {
    if (signal.aborted) return
    // The credential ended, or the membership: the session says which.
    if (error instanceof ApiError) await queryClient.invalidateQueries(sessionQuery)
  }
}

export function applyEvent(event: OrganizationEvent): void {
  const { machineId, sequence, toState, type } = event
  if (sequence <= (lastSequences.get(machineId) ?? -1)) return
  lastSequences.set(machineId, sequence)
  if (type === 'machine.deleted') {
    lastSequences.delete(machineId)
    patchMachine(machineId, () => null)
  } else if (toState) {
    patchMachine(machineId, (record) => ({ ...record, state: toState }))
  }
  if (type === 'machine.created') soon('machines', () => refresh(['machines']))
  soon(machineId, () => refreshMachine(machineId))
  if (type.startsWith('snapshot.')) soon('snapshots', () => refresh(['snapshots']))
}

async function refreshMachine(machineId: string): Promise<void> {
  const { queryKey } = machineQuery(machineId)
  // The event says no more than the state; the rest of the record may have changed with it.
  if (isShown(machineId)) {
    const record = await queryClient
      .fetchQuery({ ...machineQuery(machineId), staleTime: 0 })
      .catch(() => undefined)
    if (record) patchMachine(machineId, () => record)
  }
  const isOther = (key: readonly unknown[]) => key[2] !== queryKey[2]
  await queryClient.invalidateQueries({
    queryKey: ['machine', machineId],
    predicate: (query) => isOther(query.queryKey),
  })
}

/** Whether an open page shows this machine. */
function isShown(machineId: string): boolean {
  const cache = queryClient.getQueryCache()
  if (cache.find({ queryKey: machineQuery(machineId).queryKey })?.isActive()) return true
  return cache
    .findAll({ queryKey: ['machines'], type: 'active' })
    .some(({ state }) => JSON.stringify(state.data ?? '').includes(machineId))
}

async function refresh(queryKey: readonly string[]): Promise<void> {
  await queryClient.invalidateQueries({ queryKey })
}

function soon(key: string, run: () => Promise<void>): void {
  if (refreshTimers.has(key)) return
  const timer = setTimeout(() => {
    refreshTimers.delete(key)
    void run()
  }, refreshMs)
  refreshTimers.set(key, timer)
}
