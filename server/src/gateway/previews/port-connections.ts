import { guestStreams } from '@computer/contract'
import { Agent } from 'node:http'
import type { ClientHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { callbackify } from 'node:util'
import type { PreviewTarget } from '../../domain/previews/hosts.ts'
import { acceptAnswer } from '../../guest/answer.ts'
import type { GuestChannels, GuestRef } from '../../guest/channels.ts'

/** Below what servers commonly keep an idle connection for, so that ours is given up first. */
const idleMs = 4_000
const maxIdle = 64
const openTimeoutMs = 15_000

/**
 * Connections to ports inside machines, each a stream of the machine's guest channel. Idle ones are
 * reused, which saves a round trip to the machine.
 */
export class PortConnections {
  readonly #channels: GuestChannels
  readonly #agents = new Map<string, PortAgent>()

  constructor(channels: GuestChannels) {
    this.#channels = channels
  }

  /** The pool for a port of a machine in its current boot. */
  agentOf(target: PreviewTarget): Agent {
    const key = `${target.machine_id} ${target.generation} ${target.boots} ${target.port}`
    const known = this.#agents.get(key)
    if (known) return known
    this.#dropIdle()
    const agent = new PortAgent(() => this.open(target))
    this.#agents.set(key, agent)
    return agent
  }

  /** Throws GuestRefusal if nothing is listening, GuestUnavailable if the machine does not respond. */
  open(target: PreviewTarget): Promise<ClientHttp2Stream> {
    const ref: GuestRef = {
      id: target.machine_id,
      host: target.host,
      generation: target.generation,
      run: String(target.boots),
    }
    const { method, path } = guestStreams.port
    const request = {
      method,
      path: `${path}?port=${target.port}`,
      duplex: true,
      timeoutMs: openTimeoutMs,
    }
    return this.#channels.request(ref, request, async (answer) => {
      try {
        await acceptAnswer(answer)
      } catch (error) {
        answer.stream.destroy()
        throw error
      }
      // Close with the server's end, as a socket does, so that it leaves the pool of idle ones.
      answer.stream.once('end', () => answer.stream.destroy())
      return withBufferWrites(answer.stream)
    })
  }

  #dropIdle(): void {
    for (const [key, agent] of this.#agents) {
      if (Object.keys(agent.sockets).length + Object.keys(agent.freeSockets).length > 0) continue
      if (Object.keys(agent.requests).length === 0) this.#agents.delete(key)
    }
  }
}

/**
 * Converts written strings to buffers. Node's HTTP/2 (24.21) can send freed memory for a string that is
 * written together with a buffer, and the head of a request is such a string.
 */
function withBufferWrites(stream: ClientHttp2Stream): ClientHttp2Stream {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean
  return Object.assign(stream, {
    write: (chunk: string | Buffer, ...rest: unknown[]) => {
      if (typeof chunk !== 'string') return write(chunk, ...rest)
      const [encoding] = rest
      return write(
        Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'),
        ...(typeof encoding === 'string' ? rest.slice(1) : rest),
      )
    },
  })
}

/** Node's pool over streams, which lack the keep-alive methods of sockets. */
class PortAgent extends Agent {
  readonly #connect: (done: Done) => void

  constructor(connect: () => Promise<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: maxIdle, timeout: idleMs, scheduling: 'lifo' })
    this.#connect = callbackify(async () =>
      Object.assign(await connect(), { setKeepAlive() {}, ref() {}, unref() {} }),
    )
  }

  override createConnection(_options: unknown, done: Done): undefined {
    this.#connect(done)
  }
}

type Done = (error: Error | null, stream: Duplex) => void
