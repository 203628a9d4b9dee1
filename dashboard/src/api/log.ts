/*
 * A log of a machine, as far as it is loaded. A refresh reads from the newest entry back to the ones that are
 * known, so no entry is missed or shown twice, however fast the log grows.
 */

export type Log<Entry> = {
  /** Newest first, each once. */
  readonly entries: readonly Entry[]
  /** The position of the next older page; null at the end of the log. */
  readonly olderCursor: string | null
}

type AnyEntry = { readonly id: string; readonly occurredAt: string }
type LogPage<Entry> = { readonly data: readonly Entry[]; readonly nextCursor: string | null }
type ListPage<Entry> = (cursor: string | undefined) => PromiseLike<LogPage<Entry>>

/** After more new entries than these pages hold, such as those of a night, the log is loaded afresh. */
const maxNewPages = 10

/**
 * Reads the first page, or all pages back to the newest known entry, and back by `lateMs` more: an entry may be
 * written after one that occurred so much later. `isJoined`: no entry is missing between what is read and known.
 */
export async function readNewest<Entry extends AnyEntry>(
  list: ListPage<Entry>,
  known: Log<Entry> | undefined,
  lateMs = 0,
): Promise<Log<Entry> & { readonly isJoined: boolean }> {
  const newest = known?.entries[0]
  const untilMs = newest && Date.parse(newest.occurredAt) - lateMs
  const entries: Entry[] = []
  let olderCursor: string | null = null
  for (let pages = 0; pages < (untilMs === undefined ? 1 : maxNewPages); pages++) {
    const page = await list(olderCursor ?? undefined)
    entries.push(...page.data)
    olderCursor = page.nextCursor
    // Entries of one moment may stand on both sides of the end of a page.
    const oldestMs = Date.parse(page.data.at(-1)?.occurredAt ?? '')
    if (untilMs !== undefined && oldestMs < untilMs) return { entries, olderCursor, isJoined: true }
    if (olderCursor === null) break
  }
  return { entries, olderCursor, isJoined: false }
}

/** Puts what was read before what is known. */
export function joinLogs<Entry extends AnyEntry>(
  { entries, olderCursor, isJoined }: Awaited<ReturnType<typeof readNewest<Entry>>>,
  known: Log<Entry> | undefined,
): Log<Entry> {
  const read = new Set(entries.map(({ id }) => id))
  const older = known?.entries.filter(({ id }) => !read.has(id)) ?? []
  if (!known || !isJoined || older.length === 0) return { entries, olderCursor }
  return { entries: [...entries, ...older], olderCursor: known.olderCursor }
}

/** Adds the page that `cursor` names, unless a refresh that loaded the log afresh has moved its end. */
export function addOlderPage<Entry, Known extends Log<Entry>>(
  log: Known | undefined,
  cursor: string,
  { data, nextCursor }: LogPage<Entry>,
): Known | undefined {
  if (!log || log.olderCursor !== cursor) return log
  return { ...log, entries: [...log.entries, ...data], olderCursor: nextCursor }
}
