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
 * OpenConnections to ports inside machines, each a stream of the machine's guest channel. Those that are
 * idle are used again: to open one takes a way to the machine and back.
 */
export class PortConnections {
  readonly #channels: GuestChannels
  readonly #agents = new Map<string, PortAgent>()

  constructor(channels: GuestChannels) {
    this.#channels = channels
  }

  /** Of a port of a machine in its present run. */
  agentOf(target: PreviewTarget): Agent {
    const key = `${target.machine_id} ${target.generation} ${target.boots} ${target.port}`
    const known = this.#agents.get(key)
    if (known) return known
    this.#dropIdle()
    const agent = new PortAgent(() => this.open(target))
    this.#agents.set(key, agent)
    return agent
  }

  /** Throws GuestRefusal where nothing listens, GuestUnavailable where the machine is silent. */
  open(target: PreviewTarget): Promise<ClientHttp2Stream> {
    const ref: GuestRef = {
      id: target.machine_id,
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
      // As a socket does, it closes when the server has ended: it is idle no more, and what came is all.
      answer.stream.once('end', () => answer.stream.destroy())
      return writingBuffers(answer.stream)
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
 * A stream to which strings go as buffers. Of a string that is written together with a buffer, Node's
 * HTTP/2 was seen to send memory that it had freed (24.21), and a request's head is such a string.
 */
function writingBuffers(stream: ClientHttp2Stream): ClientHttp2Stream {
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

/** Node's pool, over streams that are no sockets and need not be kept alive. */
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
