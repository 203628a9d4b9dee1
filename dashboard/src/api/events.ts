import type { Machine, MachineEvent, MachineEventType, Session } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { addOlderPage, joinLogs, readNewest, type Log } from './log.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/** The events of a machine, as far as they are loaded. */
export type EventLog = Log<MachineEvent> & {
  /** Who opened the sessions of these events, by the id of the session. */
  readonly openers: Openers
}

type Openers = Readonly<Record<string, Pick<Session, 'openedBy' | 'type'>>>
type Call = { readonly signal?: AbortSignal | undefined }

const pageSize = 50
const maxSessionPages = 10

/** All events, or those of one type. */
export function machineEventsQuery(machineId: string, type?: MachineEventType) {
  const queryKey = ['machine', machineId, 'events', type ?? 'all'] as const
  const known = () => queryClient.getQueryData<EventLog>(queryKey)
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<EventLog> => {
      const machine = await machineHandle(machineId)
      const read = await readNewest(
        (cursor) => machine.events.list({ type, limit: pageSize, cursor, signal }),
        known(),
      )
      const openers = await findOpeners(machine, read.entries, known()?.openers ?? {}, { signal })
      // The log may have grown at its end meanwhile.
      return { ...joinLogs(read, known()), openers: { ...known()?.openers, ...openers } }
    },
  })
}

/** Adds the next older page to the log. */
export async function loadOlderEvents(machineId: string, type?: MachineEventType): Promise<void> {
  const { queryKey } = machineEventsQuery(machineId, type)
  const { olderCursor: cursor, openers: known } = queryClient.getQueryData(queryKey) ?? {}
  if (!cursor || !known) return
  const machine = await machineHandle(machineId)
  const page = await machine.events.list({ type, limit: pageSize, cursor })
  const openers = await findOpeners(machine, page.data, known, {})
  queryClient.setQueryData(queryKey, (log) => {
    const longer = addOlderPage(log, cursor, page)
    return longer && { ...longer, openers: { ...longer.openers, ...openers } }
  })
}

/** Reads who opened the sessions that are not known yet. The list is newest first, as ids are ordered. */
async function findOpeners(
  machine: Machine,
  events: readonly MachineEvent[],
  known: Openers,
  { signal }: Call,
): Promise<Openers> {
  const ids = events.flatMap(({ sessionId }) => sessionId ?? [])
  const missing = new Set(ids.filter((id) => !Object.hasOwn(known, id)))
  const oldest = [...missing].toSorted()[0] ?? ''
  const openers: Record<string, Openers[string]> = { ...known }
  let cursor: string | undefined
  for (let pages = 0; pages < maxSessionPages && missing.size > 0; pages++) {
    const query = { machineId: machine.id, limit: 100, cursor, signal }
    const { data, nextCursor } = await computer.sessions.list(query)
    for (const { id, openedBy, type } of data) {
      openers[id] = { openedBy, type }
      missing.delete(id)
    }
    if (nextCursor === null || (data.at(-1)?.id ?? '') < oldest) break
    cursor = nextCursor
  }
  return openers
}
