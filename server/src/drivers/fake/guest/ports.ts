import { duplexPair, pipeline, type Duplex } from 'node:stream'
import { GuestFault } from './fault.ts'

/** What listens inside a fake machine: a function that is given each connection. */
export class FakePorts {
  readonly #listeners = new Map<number, (connection: Duplex) => void>()
  /** Connections that were made, by anybody. */
  connections = 0

  /** Listens until the function that is answered is called. */
  listen(port: number, listener: (connection: Duplex) => void): () => void {
    this.#listeners.set(port, listener)
    return () => void this.#listeners.delete(port)
  }

  /** Throws unless something listens; what is answered is then given the stream. */
  connect(port: number): (stream: Duplex) => void {
    const listener = this.#listeners.get(port)
    if (!listener) {
      throw new GuestFault('precondition_failed', `nothing listens on port ${port} of this machine`)
    }
    return (stream) => {
      this.connections += 1
      const [outer, inner] = duplexPair()
      pipeline(stream, outer, () => {})
      pipeline(outer, stream, () => {})
      stream.once('close', () => inner.destroy())
      inner.on('error', () => {})
      listener(inner)
    }
  }
}
