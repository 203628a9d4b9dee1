import type { App } from '../../app.ts'
import { activityRow, insertActivity, type NewActivity } from './activity.ts'

const flushEveryMs = 100
const flushAt = 500
/** A database that is away for long costs the oldest. */
const mostHeld = 20_000

type Row = ReturnType<typeof activityRow>

/**
 * Writes activity soon after it happened, in batches, so that a click does not wait for the database. A process that
 * is killed loses what it did not write yet, a tenth of a second. What must not be lost is inserted with its change.
 */
export class ActivityRecorder implements AsyncDisposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  #held: Row[] = []
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()
  #isDisposed = false

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
  }

  record(activity: NewActivity): void {
    this.#held.push(activityRow(activity))
    if (this.#held.length > mostHeld) this.#held.shift()
    this.#timer ??= setTimeout(() => this.#flush(), flushEveryMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    this.#flush()
    await this.#flushing
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    while (this.#held.length > 0) {
      const rows = this.#held.splice(0, flushAt)
      try {
        await insertActivity(this.#app.db, rows)
        this.#app.changes.publish(rows[0]!.organization_id, 'unplaced')
      } catch (error) {
        // The process ends, and a database that is away must not keep it.
        if (this.#isDisposed) {
          this.#app.log.warn({ err: error }, 'could not write activity; the process ends')
          return
        }
        this.#app.log.warn({ err: error }, 'could not write activity; will retry')
        this.#held = [...rows, ...this.#held]
        this.#timer ??= setTimeout(() => this.#flush(), 10 * flushEveryMs)
        return
      }
    }
  }
}
