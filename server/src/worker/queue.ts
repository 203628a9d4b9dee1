import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { throttle } from '../pace.ts'
import { createSlots, type Slot } from './slots.ts'

/** Rows that are due for work, shared by all workers: a claim gives each to one worker at a time. */
export type Queue<Row extends { readonly id: string }> = {
  /** Names it in the metrics. */
  readonly name: string
  /** Apart from rows whose work waits for a guest. */
  readonly maxAtOnce: number
  claim(workerId: string, limit: number): Promise<readonly Row[]>
  renew(workerId: string, ids: readonly Row['id'][]): Promise<void>
  release(workerId: string, id: Row['id']): Promise<void>
  work(row: Row, slot: Slot): Promise<void>
  /** Rows may be due again this long after they were worked on, without a notification. */
  readonly againAfterMs?: number
}

/**
 * Works on due rows until the signal is aborted, and resolves when no work is in flight. It wakes on
 * notifications and polls as well; either alone is enough.
 */
export async function runQueue<Row extends { readonly id: string }>(
  app: Pick<App, 'changes' | 'log' | 'timing' | 'metrics'>,
  queue: Queue<Row>,
  signal: AbortSignal,
): Promise<void> {
  const { pollMs, wakeEveryMs, renewClaimsMs } = app.timing
  const { worker: metrics } = app.metrics
  const workerId = randomUUID()
  const running = new Set<Row['id']>()
  /** The running rows, and rows whose claim is being released. */
  const inFlight = new Map<Row['id'], Promise<void>>()
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  const wakeThrottled = throttleWakes(wake, wakeEveryMs)
  const slots = createSlots(queue.maxAtOnce, wake)

  const start = (row: Row) => {
    running.add(row.id)
    metrics.setRunning(queue.name, running.size)
    const done: Promise<void> = slots
      .use((slot) => metrics.timeStep(queue.name, () => queue.work(row, slot)))
      .finally(() => {
        running.delete(row.id)
        metrics.setRunning(queue.name, running.size)
      })
      .then(() => queue.release(workerId, row.id))
      .catch((error: unknown) => {
        const fields = { err: error, id: row.id }
        app.log.error(fields, 'work on a row failed; its claim will expire by itself')
      })
      .finally(() => {
        // The row may be running again by now.
        if (inFlight.get(row.id) === done) inFlight.delete(row.id)
        wake()
        if (queue.againAfterMs !== undefined) setTimeout(wake, queue.againAfterMs).unref()
      })
    inFlight.set(row.id, done)
  }

  const unsubscribe = app.changes.subscribe(wakeThrottled)
  signal.addEventListener('abort', wake)
  const renewing = setInterval(
    () => void logFailure(app, () => queue.renew(workerId, [...inFlight.keys()])),
    renewClaimsMs,
  )
  while (!signal.aborted) {
    const room = slots.free
    const claimed = room > 0 ? await logFailure(app, () => queue.claim(workerId, room)) : []
    if (claimed?.length) metrics.countClaims(queue.name, claimed.length)
    for (const row of claimed ?? []) {
      // After the process was suspended, a claim may have expired and been taken by us once more.
      if (!running.has(row.id)) start(row)
    }
    if ((claimed?.length ?? 0) < room || room <= 0) {
      const timer = setTimeout(wake, pollMs)
      await woken.promise
      clearTimeout(timer)
      woken = Promise.withResolvers<void>()
    }
  }
  unsubscribe()
  clearInterval(renewing)
  await Promise.all(inFlight.values())
}

function throttleWakes(wake: () => void, everyMs: number): () => void {
  const turn = throttle(everyMs)
  let isPending = false
  return () => {
    if (isPending) return
    isPending = true
    void turn().then(() => {
      isPending = false
      wake()
    })
  }
}

/** Runs work that is repeated anyway: a failure is logged and otherwise ignored. */
export async function logFailure<T>(
  app: Pick<App, 'log'>,
  run: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    app.log.warn({ err: error }, 'background work failed; will retry')
    return undefined
  }
}
