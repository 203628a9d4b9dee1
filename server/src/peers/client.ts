import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { DriverError } from '../drivers/machine-driver.ts'
import { agentProtocol, type Peer, type PeerAddress } from './peer.ts'

/** The engine of the host may take seconds to reach an agent. */
const replyTimeoutMs = 15_000
const streamTimeoutMs = 60_000
const maxReplyBytes = 65_536

const Disk = z.object({ bytes: z.number() })
const Failure = z.object({ message: z.string(), retryable: z.boolean(), ofEngine: z.boolean() })

/** The worker of another host. All that this throws is a DriverError. */
export function createRemotePeer(address: PeerAddress, token: string): Peer {
  const download = async (path: string) => {
    const { reply } = await exchange(address, token, path)
    // The engine that receives it may be slow.
    reply.socket.setTimeout(streamTimeoutMs)
    return reply
  }
  return {
    async connect({ id, generation }) {
      const headers = { connection: 'Upgrade', upgrade: agentProtocol }
      const { socket } = await exchange(address, token, `/agents/${id}/${generation}`, headers)
      if (!socket) throw unreachable(new Error('it did not switch to the protocol of agents'))
      return socket
    },
    sendCapture: (id, { imageId, base }) => download(`/captures/${id}/${imageId}/${base ?? ''}`),
    readImage: (id, file) => download(`/images/${id}/${file}`),
    async measureDisk({ id, generation }) {
      const { reply } = await exchange(address, token, `/disks/${id}/${generation}`)
      try {
        return Disk.parse(JSON.parse(await readText(reply))).bytes
      } catch (cause) {
        throw unreachable(cause as Error)
      }
    },
  }
}

type Exchange = { readonly reply: IncomingMessage; readonly socket: Duplex | null }

/** Resolves with a response that does not refuse, and the stream if it switches protocols. */
function exchange(
  { address, port, certificate }: PeerAddress,
  token: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>()
  const request = httpsRequest({
    host: address,
    port,
    path,
    agent: false,
    // The one certificate that is valid is the listener's own, which names no address.
    ca: certificate,
    checkServerIdentity: () => undefined,
    headers: { authorization: `Bearer ${token}`, ...headers },
    timeout: replyTimeoutMs,
  })
  request.once('timeout', () => request.destroy(new Error('it did not answer in time')))
  request.once('error', (cause) => reject(unreachable(cause)))
  request.once('upgrade', (reply, socket, head) => {
    socket.setTimeout(0)
    socket.setNoDelay(true)
    if (head.length > 0) socket.unshift(head)
    resolve({ reply, socket })
  })
  request.once('response', (reply) => {
    if (reply.statusCode === 200) resolve({ reply, socket: null })
    else readFailure(reply).then(reject, (cause: Error) => reject(unreachable(cause)))
  })
  request.end()
  return promise
}

async function readFailure(reply: IncomingMessage): Promise<DriverError> {
  const text = await readText(reply)
  if (reply.statusCode !== 502) throw new Error(`it responds with status ${reply.statusCode}`)
  const { message, ...rest } = Failure.parse(JSON.parse(text))
  return new DriverError(message, rest)
}

async function readText(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of reply) {
    length += (chunk as Buffer).length
    if (length > maxReplyBytes) throw new Error('its reply is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function unreachable(cause: Error): DriverError {
  return new DriverError(`the worker of the host cannot be reached: ${cause.message}`, {
    retryable: true,
    ofEngine: true,
    cause,
  })
}
