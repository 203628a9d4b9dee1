import type { MachineState, OrganizationEvent } from '@computer/sdk'
import type { QueryKey } from '@tanstack/react-query'
import { useEffect } from 'react'
import { computer } from './client.ts'
import { follow } from './follow.ts'
import { heard, watchSilence } from './liveness.ts'
import { machineQuery, patchMachines, type MachineChange } from './machines.ts'
import { queryClient } from './query-client.ts'

/*
 * The events of the organization, over one socket. An event changes the state of its machine at once if it
 * is newer than what is shown, and has the queries of that machine read again. It never adds a row to a
 * list: a list that gained a machine is read again, so no machine appears twice. However many events there
 * are, the page changes a few times a second, and only machines that can be seen are read again.
 */

const patchMs = 100
/** At most one refresh of a machine, or of the lists, in this time. */
const refreshMs = 1_000

const lastSequences = new Map<string, number>()
const changes = new Map<string, MachineChange>()
const timers = new Map<string, ReturnType<typeof setTimeout>>()
/** How many parts of the page show a machine. */
const shown = new Map<string, number>()
/** Machines that have changed since they were read. */
const stale = new Set<string>()

/** Follows the events until the signal is aborted, whatever becomes of the connection. */
export async function followEvents(signal: AbortSignal): Promise<void> {
  signal.addEventListener('abort', watchSilence(), { once: true })
  const feed = {
    subscribe: () => computer.events.subscribe({ signal, onTick: heard }),
    // Only since the page has opened can something have changed before the first subscription, and the page has read much of it.
    onReady: (isFirst: boolean) =>
      void queryClient.invalidateQueries(isFirst ? { predicate: isKeptCurrent } : {}),
    onEntry: (event: OrganizationEvent) => {
      heard()
      applyEvent(event)
    },
  }
  await follow(feed, signal)
}

/** Events tell of changes of machines, and of what belongs to one. */
function isKeptCurrent({ queryKey: [resource] }: { readonly queryKey: QueryKey }): boolean {
  return resource === 'machines' || resource === 'machine' || resource === 'snapshots'
}

/** Keeps a machine current while the component is shown. */
export function useShownMachine(machineId: string): void {
  useEffect(() => {
    shown.set(machineId, (shown.get(machineId) ?? 0) + 1)
    if (stale.has(machineId)) refreshSoon(machineId)
    return () => {
      const others = shown.get(machineId)! - 1
      if (others > 0) shown.set(machineId, others)
      else shown.delete(machineId)
    }
  }, [machineId])
}

function applyEvent({ machineId, sequence, toState, type }: OrganizationEvent): void {
  if (sequence <= (lastSequences.get(machineId) ?? -1)) return
  lastSequences.set(machineId, sequence)
  if (type === 'machine.deleted') {
    lastSequences.delete(machineId)
    change(machineId, () => null)
    return
  }
  if (toState) change(machineId, stateChange(toState))
  if (type === 'machine.created') soon('machines', refreshMs, () => refresh('machines'))
  if (type.startsWith('snapshot.')) soon('snapshots', refreshMs, () => refresh('snapshots'))
  stale.add(machineId)
  if (shown.has(machineId)) refreshSoon(machineId)
}

/** Reads the machine again after a moment, unless no part of the page shows it by then. */
function refreshSoon(machineId: string): void {
  soon(machineId, refreshMs, async () => {
    if (shown.has(machineId) && stale.delete(machineId)) await refreshMachine(machineId)
  })
}

function stateChange(state: MachineState): MachineChange {
  return (record) => ({ ...record, state })
}

function change(machineId: string, next: MachineChange): void {
  changes.set(machineId, next)
  soon('changes', patchMs, async () => {
    patchMachines(changes)
    changes.clear()
  })
}

/** The event says no more than the state; the rest of the record may have changed with it. */
async function refreshMachine(machineId: string): Promise<void> {
  const query = machineQuery(machineId)
  const record = await queryClient.fetchQuery({ ...query, staleTime: 0 }).catch(() => undefined)
  if (record) patchMachines(new Map([[machineId, () => record]]))
  await queryClient.invalidateQueries({
    queryKey: ['machine', machineId],
    predicate: ({ queryKey }) => queryKey[2] !== query.queryKey[2],
  })
}

async function refresh(resource: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: [resource] })
}

/** Runs it once after the time, however often it is asked for meanwhile. */
function soon(key: string, ms: number, run: () => Promise<void>): void {
  if (timers.has(key)) return
  const timer = setTimeout(() => {
    timers.delete(key)
    void run()
  }, ms)
  timers.set(key, timer)
}
