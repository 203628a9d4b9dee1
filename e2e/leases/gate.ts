import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * The connections of a server process to the agents of machines, which a test can hold up in one direction,
 * or cut. Bytes that are held up are delivered in order when the gate opens.
 */
export class Gate {
  readonly #streams = new Set<GatedStream>()
  #held: Direction | null = null

  async connect(socketPath: string): Promise<Duplex> {
    const socket = connect(socketPath)
    await new Promise<void>((resolve, reject) =>
      socket.once('connect', resolve).once('error', reject),
    )
    const stream = new GatedStream(socket, () => this.#held)
    this.#streams.add(stream)
    stream.once('close', () => this.#streams.delete(stream))
    return stream
  }

  hold(direction: Direction): void {
    this.#held = direction
  }

  open(): void {
    this.#held = null
    for (const stream of this.#streams) stream.flush()
  }

  /** Closes all connections, as the death of the process would. */
  cut(): void {
    this.open()
    for (const stream of this.#streams) stream.destroy()
  }
}

type Direction = 'requests' | 'answers'

class GatedStream extends Duplex {
  readonly #socket: Socket
  readonly #held: () => Direction | null
  #waiting: (() => void)[] = []

  constructor(socket: Socket, held: () => Direction | null) {
    super()
    this.#socket = socket
    this.#held = held
    socket.on('data', (chunk: Buffer) => this.#pass('answers', () => this.push(chunk)))
    socket.on('end', () => this.#pass('answers', () => this.push(null)))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  flush(): void {
    for (const act of this.#waiting.splice(0)) act()
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#pass('requests', () => this.#socket.write(chunk, done))
  }

  override _final(done: () => void): void {
    this.#pass('requests', () => this.#socket.end(done))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #pass(direction: Direction, act: () => void): void {
    if (this.#held() === direction) this.#waiting.push(act)
    else act()
  }
}
