import type { Connection } from './connection.ts'

/** Every open connection of this process, for whoever has to close those that lost their authorization. */
export class OpenConnections implements Iterable<Connection> {
  readonly #open = new Set<Connection>()
  #isGoingAway = false

  add(connection: Connection): void {
    this.#open.add(connection)
    connection.onClose(() => this.#open.delete(connection))
    // Its handshake was under way when the others were closed.
    if (this.#isGoingAway) this.closeAll()
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#open.values()
  }

  /** The server goes away: clients connect again, to another one or the next. */
  closeAll(): void {
    this.#isGoingAway = true
    for (const connection of this.#open) connection.close('goingAway', 'connect again')
  }
}
