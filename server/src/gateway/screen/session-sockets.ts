import type { App } from '../../app.ts'
import {
  noteSocketClosed,
  noteSocketOpened,
  touchSockets,
  type SessionSocket,
  type SocketId,
} from '../../domain/control/session-sockets.ts'
import type { Connection } from '../connection.ts'

const touchEveryMs = 20_000

/** The id is null while the row could not be written. */
type Entry = { readonly socket: SessionSocket; id: Promise<SocketId | null> }

/**
 * Records which sessions have open sockets in this process. A row that could not be written is retried
 * with the next touch. A row that could not be deleted expires, and the worker removes it.
 */
export class SessionSockets implements AsyncDisposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  readonly #open = new Set<Entry>()
  readonly #closing = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(() => void this.#touch(), touchEveryMs)
  }

  add(connection: Connection, socket: SessionSocket): void {
    const entry = { socket, id: this.#recordOpened(socket) }
    this.#open.add(entry)
    connection.onClose(() => this.#remove(entry))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    for (const entry of this.#open) this.#remove(entry)
    await Promise.all(this.#closing)
  }

  async #recordOpened(socket: SessionSocket): Promise<SocketId | null> {
    try {
      return await noteSocketOpened(this.#app, socket)
    } catch (error) {
      this.#warn(error, socket)
      return null
    }
  }

  #remove(entry: Entry): void {
    if (!this.#open.delete(entry)) return
    const closing = this.#recordClosed(entry).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #recordClosed({ socket, id }: Entry): Promise<void> {
    try {
      const socketId = await id
      if (socketId) await noteSocketClosed(this.#app, socket, socketId)
    } catch (error) {
      this.#warn(error, socket)
    }
  }

  async #touch(): Promise<void> {
    const all = [...this.#open]
    const ids = await Promise.all(all.map(({ id }) => id))
    const known = ids.filter((id) => id !== null)
    try {
      const kept = known.length > 0 ? await touchSockets(this.#app.db, known) : new Set<SocketId>()
      for (const [index, entry] of all.entries()) {
        const id = ids[index] ?? null
        const isRecorded = id !== null && kept.has(id)
        if (!isRecorded && this.#open.has(entry)) entry.id = this.#recordOpened(entry.socket)
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not touch the sockets of sessions; will retry')
    }
  }

  #warn(error: unknown, { sessionId }: SessionSocket): void {
    this.#app.log.warn(
      { err: error, session_id: sessionId },
      'could not record a socket of a session',
    )
  }
}
