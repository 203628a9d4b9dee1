import { constants, type ServerHttp2Stream } from 'node:http2'
import { createConnection, type Socket } from 'node:net'
import { Refusal } from '../refusal.ts'

/** The machine itself and nothing else; a server that listens on one of the two is found. */
const addresses = ['127.0.0.1', '::1'] as const
const connectTimeoutMs = 10_000

/** Resolves when the connection stands. */
export async function connectPort(port: number, signal: AbortSignal): Promise<Socket> {
  for (const host of addresses) {
    const socket = await connect(host, port, signal)
    if (socket) return socket
  }
  throw new Refusal('precondition_failed', `nothing listens on port ${port} of this machine`)
}

/** Bytes both ways. Each side ends when its own is done; when one breaks, both do. */
export function join(stream: ServerHttp2Stream, socket: Socket): void {
  if (stream.destroyed) {
    socket.destroy()
    return
  }
  stream.pipe(socket)
  socket.pipe(stream)
  // A clean end would make what was cut short look whole.
  socket.once('close', () => {
    if (!socket.readableEnded) stream.close(constants.NGHTTP2_CONNECT_ERROR)
  })
  // The other way it breaks off by itself: what was still to be sent has nobody to go to.
  socket.on('error', () => {})
  stream.once('aborted', () => socket.destroy())
  stream.once('close', () => socket.destroy())
}

/** Null where nobody answers. */
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
