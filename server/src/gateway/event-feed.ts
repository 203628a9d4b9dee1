import type { App } from '../app.ts'
import type { Connection } from './connection.ts'

const pageSize = 200
/** What a lost hint may cost. */
const pollMs = 1_000

/** Rows after a place, oldest first; and each row's place. */
export type EventSource<Row> = {
  readonly read: (after: number, limit: number) => Promise<readonly Row[]>
  readonly placeOf: (row: Row) => number
  readonly show: (row: Row) => unknown
  /** Nothing can follow it: what the channel is about is gone. */
  readonly isLast: (row: Row) => boolean
}

/**
 * Sends rows to connections in their order, each from a place of its own. A hint or the poll makes
 * it look; connections that stand at the same place share one look. A connection is read for only as
 * fast as it takes what it is sent, so nothing gathers here.
 */
export class EventFeed<Row> implements Disposable {
  readonly #app: Pick<App, 'log'>
  readonly #source: EventSource<Row>
  readonly #wakers = new Set<() => void>()
  readonly #poll: NodeJS.Timeout
  #looks = new Map<number, Promise<readonly Row[]>>()

  constructor(app: Pick<App, 'log'>, source: EventSource<Row>) {
    this.#app = app
    this.#source = source
    this.#poll = setInterval(() => this.wake(), pollMs)
  }

  get isIdle(): boolean {
    return this.#wakers.size === 0
  }

  /** Something may be there that was not. */
  wake(): void {
    this.#looks = new Map()
    for (const wake of this.#wakers) wake()
  }

  /** Resolves when the connection has closed. */
  async follow(connection: Connection, after: number): Promise<void> {
    let place = after
    let next = Promise.withResolvers<void>()
    const wake = () => next.resolve()
    this.#wakers.add(wake)
    connection.onClose(wake)
    try {
      while (connection.isOpen) {
        next = Promise.withResolvers()
        const rows = await this.#look(place)
        for (const row of rows) {
          connection.sendControl(this.#source.show(row))
          place = this.#source.placeOf(row)
          if (this.#source.isLast(row)) connection.close('gone', 'the machine was deleted')
          if (!connection.isRoomy) await connection.drained()
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

  async #look(after: number): Promise<readonly Row[]> {
    const known = this.#looks.get(after)
    if (known) return known
    const looks = this.#looks
    const look = this.#source.read(after, pageSize).catch((error: unknown) => {
      this.#app.log.warn({ err: error }, 'events could not be read; the next look tries again')
      looks.delete(after)
      return []
    })
    looks.set(after, look)
    return look
  }
}
