import type { Machine, MachineEvent, MachineEventType, Session } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/*
 * The log of a machine, as far as it is loaded. A refresh reads from the newest event back to the first one
 * that is known, so no event is missed or shown twice, however fast the log grows.
 */

export type EventLog = {
  /** Newest first, each sequence once. */
  readonly events: readonly MachineEvent[]
  /** The position of the next older page; null at the end of the log. */
  readonly olderCursor: string | null
  /** Who opened the sessions of these events, by the id of the session. */
  readonly openers: Openers
}

type Openers = Readonly<Record<string, Pick<Session, 'openedBy' | 'type'>>>
type Call = { readonly signal?: AbortSignal | undefined }

const pageSize = 50
/** After more new events than these pages hold, such as those of a night, the log is loaded afresh. */
const maxNewPages = 10
const maxSessionPages = 10

/** All events, or those of one type. */
export function machineEventsQuery(machineId: string, type?: MachineEventType) {
  const queryKey = ['machine', machineId, 'events', type ?? 'all'] as const
  const known = () => queryClient.getQueryData<EventLog>(queryKey)
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<EventLog> => {
      const machine = await machineHandle(machineId)
      const newest = known()?.events[0]?.sequence
      const { events, cursor, isJoined } = await readSince(machine, newest, type, { signal })
      const openers = await findOpeners(machine, events, known()?.openers ?? {}, { signal })
      // The log may have grown at its end meanwhile.
      const log = known()
      if (!isJoined || !log) return { events, olderCursor: cursor, openers }
      return { ...log, events: [...events, ...log.events], openers: { ...log.openers, ...openers } }
    },
  })
}

/** Adds the next older page to the log. */
export async function loadOlderEvents(machineId: string, type?: MachineEventType): Promise<void> {
  const { queryKey } = machineEventsQuery(machineId, type)
  const before = queryClient.getQueryData(queryKey)
  if (!before?.olderCursor) return
  const machine = await machineHandle(machineId)
  const page = await listEvents(machine, type, before.olderCursor, {})
  const openers = await findOpeners(machine, page.data, before.openers, {})
  queryClient.setQueryData(queryKey, (log) => {
    // A refresh that loaded the log afresh has moved its end.
    if (!log || log.olderCursor !== before.olderCursor) return log
    return {
      events: [...log.events, ...page.data],
      olderCursor: page.nextCursor,
      openers: { ...log.openers, ...openers },
    }
  })
}

function listEvents(
  machine: Machine,
  type: MachineEventType | undefined,
  cursor: string | undefined,
  { signal }: Call,
) {
  return machine.events.list({ type, limit: pageSize, cursor, signal })
}

/** The events after `newest`, or the first page. `isJoined`: no event is missing between them and `newest`. */
async function readSince(
  machine: Machine,
  newest: number | undefined,
  type: MachineEventType | undefined,
  options: Call,
) {
  const events: MachineEvent[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < (newest === undefined ? 1 : maxNewPages); pages++) {
    const page = await listEvents(machine, type, cursor ?? undefined, options)
    const fresh = page.data.filter(({ sequence }) => sequence > (newest ?? -1))
    events.push(...fresh)
    cursor = page.nextCursor
    if (fresh.length < page.data.length) return { events, cursor, isJoined: true }
    if (cursor === null) break
  }
  return { events, cursor, isJoined: false }
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
