import type { Machine, MachineRecord, MachineState } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { patchData, queryClient } from './query-client.ts'

export type MachineFilter = {
  readonly search?: string | undefined
  readonly state?: MachineState | undefined
  readonly templateId?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** The largest page that the API gives. */
const pageSize = 100

/** One handle per machine, which keeps its session and input lease for as long as the page is open. */
const handles = new Map<string, Machine>()

export function machinesQuery(filter: MachineFilter = {}) {
  return infiniteQueryOptions({
    queryKey: ['machines', filter] as const,
    queryFn: async ({ signal, pageParam }) => {
      const page = await computer.machines.list({
        ...(filter as object),
        limit: pageSize,
        cursor: pageParam,
        signal,
      })
      for (const machine of page.data)
        if (!handles.has(machine.id)) handles.set(machine.id, machine)
      return { data: page.data.map(({ data }) => data), nextCursor: page.nextCursor }
    },
    // Comparing thousands of records would take longer than showing them.
    structuralSharing: false,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
}

/** The record of one machine. It fails with `not_found` for a machine of another organization. */
export function machineQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'record'] as const,
    queryFn: async ({ signal }) => {
      const known = handles.get(machineId)
      const machine = known
        ? await known.refresh({ signal })
        : await computer.machines.get(machineId, { signal })
      handles.set(machineId, machine)
      return machine.data
    },
  })
}

/** The event of the last failure of a machine in an error. */
export function failureQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'failure'] as const,
    queryFn: async ({ signal }) => {
      const { events } = await machineHandle(machineId)
      const { data } = await events.list({ limit: 100, signal })
      return (
        data.find(({ type }) => type === 'machine.failed' || type === 'machine.restore_failed') ??
        null
      )
    },
  })
}

/** The SDK's handle on a machine, read from the server if this page has not met it yet. */
export async function machineHandle(machineId: string): Promise<Machine> {
  if (!handles.has(machineId)) await queryClient.fetchQuery(machineQuery(machineId))
  return handles.get(machineId)!
}

/** The handle on a machine whose record is in the cache. */
export function knownMachine(machineId: string): Machine {
  const machine = handles.get(machineId)
  if (!machine) throw new Error(`machine ${machineId} has not been read yet`)
  return machine
}

export function forgetMachines(): void {
  handles.clear()
}

type MachinePages = { pages: { data: MachineRecord[]; nextCursor: string | null }[] }

/** What becomes of a record; null removes it from the lists. */
export type MachineChange = (record: MachineRecord) => MachineRecord | null

/** Changes machines wherever the cache holds them, in one pass over the lists. */
export function patchMachines(changes: ReadonlyMap<string, MachineChange>): void {
  const apply = (record: MachineRecord) => {
    const change = changes.get(record.id)
    return change ? change(record) : record
  }
  for (const machineId of changes.keys()) {
    patchData<MachineRecord>(machineQuery(machineId).queryKey, (record) => apply(record) ?? record)
  }
  patchData<MachinePages>(['machines'], (old) => {
    if (!old.pages.some(({ data }) => data.some(({ id }) => changes.has(id)))) return old
    const pages = old.pages.map((page) => ({
      ...page,
      data: page.data.flatMap((one) => apply(one) ?? []),
    }))
    return { ...old, pages }
  })
}

export function patchMachine(machineId: string, change: MachineChange): void {
  patchMachines(new Map([[machineId, change]]))
}

/** Shows the record that a call has returned, without waiting for its event. */
export function showMachine(record: MachineRecord): void {
  patchMachine(record.id, () => record)
}
