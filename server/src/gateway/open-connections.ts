import type { Connection } from './connection.ts'

/** Every open connection of this process. */
export class OpenConnections implements Iterable<Connection> {
  readonly #open = new Set<Connection>()
  #isShuttingDown = false

  add(connection: Connection): void {
    this.#open.add(connection)
    connection.onClose(() => this.#open.delete(connection))
    // Its handshake was in progress when the others were closed.
    if (this.#isShuttingDown) this.closeAll()
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#open.values()
  }

  /** The server is shutting down: clients reconnect to another process or to the next one. */
  closeAll(): void {
    this.#isShuttingDown = true
    for (const connection of this.#open)
      connection.close('goingAway', 'the server is shutting down; reconnect')
  }
}
