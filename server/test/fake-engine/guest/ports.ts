import { constants, type ServerHttp2Stream } from 'node:http2'
import { duplexPair, type Duplex } from 'node:stream'
import { GuestFault } from './fault.ts'

/** The listeners inside a fake machine: functions that receive each connection. */
export class FakePorts {
  readonly #listeners = new Map<number, (connection: Duplex) => void>()
  /** The number of connections made so far. */
  connections = 0

  /** Listens until the returned function is called. */
  listen(port: number, listener: (connection: Duplex) => void): () => void {
    this.#listeners.set(port, listener)
    return () => void this.#listeners.delete(port)
  }

  /** Throws unless something listens on the port; the returned function takes the stream over. */
  connect(port: number): (stream: ServerHttp2Stream) => void {
    const listener = this.#listeners.get(port)
    if (!listener) {
      throw new GuestFault('precondition_failed', `nothing listens on port ${port} of this machine`)
    }
    return (stream) => {
      this.connections += 1
      const [outer, inner] = duplexPair()
      stream.pipe(outer).pipe(stream)
      outer.once('close', () => {
        if (!outer.readableEnded) stream.close(constants.NGHTTP2_CONNECT_ERROR)
      })
      stream.once('close', () => outer.destroy())
      outer.on('error', () => {})
      // As with sockets, closing one side closes the other.
      outer.once('close', () => inner.destroy())
      inner.once('close', () => {
        if (!inner.writableEnded) outer.destroy()
      })
      inner.on('error', () => {})
      listener(inner)
    }
  }
}
