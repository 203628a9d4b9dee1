import type { App } from '../app.ts'

const pageSize = 200
/** Bounds the delay when a NOTIFY is lost. */
const pollMs = 1_000

export type EventSource<Row> = {
  /** Rows after a cursor, oldest first. */
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  readonly cursorOf: (row: Row) => number
}

/** Takes the rows of a feed, one after the other. */
export type FeedReader<Row> = {
  readonly isOpen: boolean
  /** Awaited before the next row. */
  take(row: Row): void | Promise<void>
  onClose(listener: () => void): void
}

/**
 * Gives rows to readers in order, each from its own cursor. Notifications and a poll trigger reads;
 * readers at the same cursor share one read. Rows are read only as fast as each reader takes
 * them, so nothing is buffered here.
 */
export class EventFeed<Row> implements Disposable {
  readonly #app: Pick<App, 'log'>
  readonly #source: EventSource<Row>
  readonly #wakers = new Set<() => void>()
  readonly #poll: NodeJS.Timeout
  /** Pages read since the last wake, by cursor. */
  #pages = new Map<number, Promise<readonly Row[]>>()

  constructor(app: Pick<App, 'log'>, source: EventSource<Row>) {
    this.#app = app
    this.#source = source
    this.#poll = setInterval(() => this.wake(), pollMs)
  }

  get isIdle(): boolean {
    return this.#wakers.size === 0
  }

  /** There may be new rows. */
  wake(): void {
    this.#pages = new Map()
    for (const wake of this.#wakers) wake()
  }

  /** Resolves when the reader has closed. */
  async follow(reader: FeedReader<Row>, after: number): Promise<void> {
    let cursor = after
    let next = Promise.withResolvers<void>()
    const wake = () => next.resolve()
    this.#wakers.add(wake)
    reader.onClose(wake)
    try {
      while (reader.isOpen) {
        next = Promise.withResolvers()
        const rows = await this.#readPage(cursor)
        for (const row of rows) {
          await reader.take(row)
          cursor = this.#source.cursorOf(row)
        }
        if (rows.length < pageSize && reader.isOpen) await next.promise
      }
    } finally {
      this.#wakers.delete(wake)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#poll)
  }

  async #readPage(after: number): Promise<readonly Row[]> {
    const known = this.#pages.get(after)
    if (known) return known
    const pages = this.#pages
    const page = this.#source.read(after, pageSize).catch((error: unknown) => {
      this.#app.log.warn({ err: error }, 'could not read events; will retry')
      pages.delete(after)
      return []
    })
    pages.set(after, page)
    return page
  }
}
