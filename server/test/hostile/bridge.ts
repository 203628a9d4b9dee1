import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** The socket as a plain stream, as the engine's streams are: HTTP/2 treats sockets differently. */
export function bridge(socket: Socket): Duplex {
  const stream = new Duplex({
    allowHalfOpen: true,
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk) => {
    if (!stream.push(chunk)) socket.pause()
  })
  socket.on('end', () => stream.push(null))
  socket.on('error', (error) => stream.destroy(error))
  socket.on('close', () => stream.destroy())
  stream.on('error', () => {})
  return stream
}
