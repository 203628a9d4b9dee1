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

type Noted = { readonly socket: SessionSocket; id: Promise<SocketId | null> }

/**
 * Notes which sessions have sockets open here, for as long as they have. What cannot be noted is tried
 * again with the next touch; what cannot be taken back is forgotten by the worker.
 */
export class SessionSockets implements AsyncDisposable {
  readonly #app: Pick<App, 'db' | 'changes' | 'log'>
  readonly #open = new Set<Noted>()
  readonly #closing = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout

  constructor(app: Pick<App, 'db' | 'changes' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(() => void this.#touch(), touchEveryMs)
  }

  add(connection: Connection, socket: SessionSocket): void {
    const noted = { socket, id: this.#noteOpened(socket) }
    this.#open.add(noted)
    connection.onClose(() => this.#remove(noted))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    for (const noted of this.#open) this.#remove(noted)
    await Promise.all(this.#closing)
  }

  async #noteOpened(socket: SessionSocket): Promise<SocketId | null> {
    try {
      return await noteSocketOpened(this.#app, socket)
    } catch (error) {
      this.#warn(error, socket)
      return null
    }
  }

  #remove(noted: Noted): void {
    if (!this.#open.delete(noted)) return
    const closing = this.#noteClosed(noted).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #noteClosed({ socket, id }: Noted): Promise<void> {
    try {
      const noted = await id
      if (noted) await noteSocketClosed(this.#app, socket, noted)
    } catch (error) {
      this.#warn(error, socket)
    }
  }

  async #touch(): Promise<void> {
    const all = [...this.#open]
    const ids = await Promise.all(all.map(({ id }) => id))
    const known = ids.filter((id) => id !== null)
    try {
      const seen = known.length > 0 ? await touchSockets(this.#app.db, known) : new Set<SocketId>()
      for (const [index, noted] of all.entries()) {
        const id = ids[index] ?? null
        const isNoted = id !== null && seen.has(id)
        if (!isNoted && this.#open.has(noted)) noted.id = this.#noteOpened(noted.socket)
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'sockets were not noted; the next time tries again')
    }
  }

  #warn(error: unknown, { sessionId }: SessionSocket): void {
    this.#app.log.warn({ err: error, session_id: sessionId }, 'a socket was not noted')
  }
}
