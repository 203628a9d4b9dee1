import type { Machine, MachineEvent, MachineEventType, Session } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/*
 * The log of a machine, as far as it is loaded. A refresh reads from the newest event back to the first one
 * that is known, so nothing is read twice, missed or shown twice, however fast the log grows.
 */

export type EventLog = {
  /** Newest first, each sequence once. */
  readonly events: readonly MachineEvent[]
  /** The position of the next older page; null at the end of the log. */
  readonly olderCursor: string | null
  /** Who opened the sessions of these events, by the id of the session. */
  readonly openers: Readonly<Record<string, Pick<Session, 'openedBy' | 'type'>>>
}

const pageSize = 50
/** After more new events than this, such as those of a night, the log is loaded afresh. */
const maxNewPages = 10
const maxSessionPages = 10

/** All events, or those of one type. */
export function machineEventsQuery(machineId: string, type?: MachineEventType) {
  const queryKey = ['machine', machineId, 'events', type ?? 'all'] as const
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<EventLog> => {
      const machine = await machineHandle(machineId)
      const newest = queryClient.getQueryData<EventLog>(queryKey)?.events[0]?.sequence ?? -1
      const added: MachineEvent[] = []
      let cursor: string | undefined
      for (let pages = 1; ; pages++) {
        const page = await machine.events.list({ type, limit: pageSize, cursor, signal })
        added.push(...page.data)
        cursor = page.nextCursor ?? undefined
        const isJoined = page.data.some(({ sequence }) => sequence <= newest)
        if (isJoined) return join(machine, queryClient.getQueryData(queryKey), added, signal)
        if (cursor === undefined || newest < 0 || pages === maxNewPages) break
      }
      return complete(machine, { events: added, olderCursor: cursor ?? null, openers: {} }, signal)
    },
  })
}

/** Adds the next older page to the log. */
export async function loadOlderEvents(machineId: string, type?: MachineEventType): Promise<void> {
  const { queryKey } = machineEventsQuery(machineId, type)
  const cursor = queryClient.getQueryData(queryKey)?.olderCursor
  if (!cursor) return
  const machine = await machineHandle(machineId)
  const page = await machine.events.list({ type, limit: pageSize, cursor })
  const added = await complete(machine, {
    events: page.data,
    olderCursor: page.nextCursor,
    openers: queryClient.getQueryData(queryKey)?.openers ?? {},
  })
  queryClient.setQueryData(queryKey, (log) => {
    // A refresh that loaded the log afresh has moved its end.
    if (!log || log.olderCursor !== cursor) return log
    return { ...added, events: [...log.events, ...added.events] }
  })
}

/** Puts new events before those of the log, which may have grown at its end meanwhile. */
async function join(
  machine: Machine,
  log: EventLog | undefined,
  added: readonly MachineEvent[],
  signal: AbortSignal,
): Promise<EventLog> {
  const { events, olderCursor, openers } = log!
  const newest = events[0]!.sequence
  const fresh = added.filter(({ sequence }) => sequence > newest)
  const joined = await complete(machine, { events: fresh, olderCursor, openers }, signal)
  return { ...joined, events: [...fresh, ...events] }
}

/** Finds who opened the sessions that are not known yet. Sessions are listed newest first, as their ids are. */
async function complete(
  machine: Machine,
  log: EventLog,
  signal?: AbortSignal,
): Promise<EventLog> {
  const ids = log.events.flatMap(({ sessionId }) => sessionId ?? [])
  const missing = new Set(ids.filter((id) => !Object.hasOwn(log.openers, id)))
  if (missing.size === 0) return log
  const openers = { ...log.openers }
  const oldest = [...missing].toSorted()[0]!
  let cursor: string | undefined
  for (let pages = 0; pages < maxSessionPages && missing.size > 0; pages++) {
    const list = computer.sessions.list({ machineId: machine.id, limit: 100, cursor, signal })
    const { data, nextCursor } = await list
    for (const { id, openedBy, type } of data) {
      openers[id] = { openedBy, type }
      missing.delete(id)
    }
    if (nextCursor === null || (data.at(-1)?.id ?? '') < oldest) break
    cursor = nextCursor
  }
  return { ...log, openers }
}
