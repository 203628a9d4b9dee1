import type { App } from '../app.ts'
import type { Connection } from './connection.ts'

const pageSize = 200
/** Bounds the delay when a NOTIFY is lost. */
const pollMs = 1_000

export type EventSource<Row> = {
  /** Rows after a cursor, oldest first. */
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  readonly cursorOf: (row: Row) => number
  readonly show: (row: Row) => unknown
  /** No row can follow, because the subject of the channel is gone. */
  readonly isLast: (row: Row) => boolean
}

/**
 * Sends rows to connections in order, each from its own cursor. Notifications and a poll trigger reads;
 * connections at the same cursor share one read. Rows are read only as fast as each connection takes
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

  /** Resolves when the connection has closed. */
  async follow(connection: Connection, after: number): Promise<void> {
    let cursor = after
    let next = Promise.withResolvers<void>()
    const wake = () => next.resolve()
    this.#wakers.add(wake)
    connection.onClose(wake)
    try {
      while (connection.isOpen) {
        next = Promise.withResolvers()
        const rows = await this.#readPage(cursor)
        for (const row of rows) {
          connection.sendControl(this.#source.show(row))
          cursor = this.#source.cursorOf(row)
          if (this.#source.isLast(row)) connection.close('gone', 'the machine was deleted')
          if (!connection.hasRoom) await connection.drained()
        }
        if (rows.length < pageSize && connection.isOpen) await next.promise
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
