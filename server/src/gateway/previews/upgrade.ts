import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { connector, relay, open, sendFailure, type ProxiedRequest } from './forward.ts'
import { responseHeaders } from './headers.ts'
import type { PortConnections } from './port-connections.ts'

/**
 * Forwards a WebSocket handshake and, once it is accepted, the bytes of both sides. Any other response
 * is relayed as usual.
 */
export function forwardUpgrade(
  ports: PortConnections,
  proxied: ProxiedRequest,
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
): void {
  const { target, response, countServed } = proxied
  const connection = { createConnection: connector(ports, target) }
  const upstream = open(proxied, connection, ['connection', 'Upgrade', 'upgrade', 'websocket'])
  upstream.once('upgrade', (answer, stream, firstBytes) => {
    if (answer.headers.upgrade?.toLowerCase() !== 'websocket' || socket.destroyed) {
      stream.destroy()
      return sendFailure(response, new Error('the server switched to another protocol'))
    }
    response.detachSocket(socket)
    // Detects a client that disappeared without closing.
    socket.setKeepAlive(true, 60_000)
    socket.write(headOf(answer), 'latin1')
    stream.on('data', (chunk: Buffer) => countServed(chunk.length))
    if (firstBytes.length > 0) stream.unshift(firstBytes)
    if (head.length > 0) stream.write(head)
    stream.pipe(socket)
    socket.pipe(stream)
    stream.on('error', () => socket.destroy())
    stream.once('close', () => socket.destroy())
    socket.once('close', () => stream.destroy())
  })
  relay(proxied, upstream, (error) => sendFailure(response, error))
  upstream.end()
}

function headOf(answer: IncomingMessage): string {
  const headers = responseHeaders(answer.rawHeaders)
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
