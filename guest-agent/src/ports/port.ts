import { constants, type ServerHttp2Stream } from 'node:http2'
import { createConnection, type Socket } from 'node:net'
import { AgentError } from '../errors.ts'

/** The machine's loopback addresses; a server may listen on only one of them. */
const addresses = ['127.0.0.1', '::1'] as const
const connectTimeoutMs = 10_000

/** Resolves when the connection is established. */
export async function connectPort(port: number, signal: AbortSignal): Promise<Socket> {
  for (const host of addresses) {
    const socket = await connect(host, port, signal)
    if (socket) return socket
  }
  throw new AgentError('precondition_failed', `nothing listens on port ${port} of this machine`)
}

/** Copies bytes both ways. Each direction ends on its own; a failure of either side ends both. */
export function pipeBoth(stream: ServerHttp2Stream, socket: Socket): void {
  if (stream.destroyed) {
    socket.destroy()
    return
  }
  stream.pipe(socket)
  socket.pipe(stream)
  // Ending it cleanly would make a truncated response look complete.
  socket.once('close', () => {
    if (!socket.readableEnded) stream.close(constants.NGHTTP2_CONNECT_ERROR)
  })
  // Data still to be sent to the socket is lost with it; the stream is closed above.
  socket.on('error', () => {})
  stream.once('aborted', () => socket.destroy())
  stream.once('close', () => socket.destroy())
}

/** Null if nothing accepts the connection. */
async function connect(host: string, port: number, signal: AbortSignal): Promise<Socket | null> {
  signal.throwIfAborted()
  const socket = createConnection({ host, port, allowHalfOpen: true, noDelay: true })
  return new Promise((resolve, reject) => {
    const abandon = () => {
      socket.destroy()
      reject(signal.reason as Error)
    }
    const settle = (result: Socket | null) => {
      signal.removeEventListener('abort', abandon)
      socket.setTimeout(0)
      if (!result) socket.on('error', () => {}).destroy()
      resolve(result)
    }
    signal.addEventListener('abort', abandon, { once: true })
    socket.setTimeout(connectTimeoutMs, () => settle(null))
    socket.once('connect', () => settle(socket))
    socket.once('error', () => settle(null))
  })
}
