import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { renewEveryMs } from '../domain/claims.ts'
import { pace } from '../pace.ts'

/** Rows that need work and that all workers share: each is one worker's at a time, by a claim. */
export type Queue<Row extends { readonly id: string }> = {
  readonly maxAtOnce: number
  claim(workerId: string, limit: number): Promise<readonly Row[]>
  renew(workerId: string, ids: readonly Row['id'][]): Promise<void>
  release(workerId: string, id: Row['id']): Promise<void>
  work(row: Row): Promise<void>
  /** What was worked on may be due again after that long; all else comes by hints and the poll. */
  readonly againAfterMs?: number
}

type QueueApp = Pick<App, 'changes' | 'log'>

const pollMs = 1_000
/** Most hints are about rows that need no work, and there may be thousands in a second. */
const heedEveryMs = 50

/**
 * Works on what is due until the signal is aborted, and resolves when nothing is in flight. Woken by
 * hints and by a timer; either alone would do.
 */
export async function runQueue<Row extends { readonly id: string }>(
  app: QueueApp,
  queue: Queue<Row>,
  signal: AbortSignal,
): Promise<void> {
  const workerId = randomUUID()
  const inWork = new Set<Row['id']>()
  /** Those in work, and those that are being released. */
  const inFlight = new Map<Row['id'], Promise<void>>()
  let wake = Promise.withResolvers<void>()
  const nudge = () => wake.resolve()
  const turn = pace(heedEveryMs)
  let isHeeding = false
  const heed = () => {
    if (isHeeding) return
    isHeeding = true
    void turn().then(() => {
      isHeeding = false
      nudge()
    })
  }

  const work = (row: Row) => {
    inWork.add(row.id)
    const done: Promise<void> = queue
      .work(row)
      .finally(() => inWork.delete(row.id))
      .then(() => queue.release(workerId, row.id))
      .catch((error: unknown) => {
        app.log.error({ err: error, id: row.id }, 'a row was left to its claim')
      })
      .finally(() => {
        // It may be in work again by now.
        if (inFlight.get(row.id) === done) inFlight.delete(row.id)
        nudge()
        if (queue.againAfterMs !== undefined) setTimeout(nudge, queue.againAfterMs).unref()
      })
    inFlight.set(row.id, done)
  }

  const unsubscribe = app.changes.subscribe(heed)
  signal.addEventListener('abort', nudge)
  const renewing = setInterval(
    () => void safely(app, () => queue.renew(workerId, [...inFlight.keys()])),
    renewEveryMs,
  )
  while (!signal.aborted) {
    const room = queue.maxAtOnce - inFlight.size
    const claimed = room > 0 ? await safely(app, () => queue.claim(workerId, room)) : []
    for (const row of claimed ?? []) {
      // Where the process was held up, a claim may have run out during the work, and is ours again.
      if (!inWork.has(row.id)) work(row)
    }
    if ((claimed?.length ?? 0) < room || room <= 0) {
      const timer = setTimeout(nudge, pollMs)
      await wake.promise
      clearTimeout(timer)
      wake = Promise.withResolvers<void>()
    }
  }
  unsubscribe()
  clearInterval(renewing)
  await Promise.all(inFlight.values())
}

/** For what runs again anyway: a failure is logged, and nothing more. */
export async function safely<T>(
  app: Pick<App, 'log'>,
  run: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    app.log.warn({ err: error }, 'a pass of the worker failed; the next one tries again')
    return undefined
  }
}
