import type { Duplex } from 'node:stream'

/** How long a client may take to receive the last bytes and to close its end. */
const lingerMs = 5_000

/**
 * Ends a connection that no server reads requests from any more, after `last`. The connection closes soon, even if its
 * client stays or receives nothing.
 */
export function endConnection(socket: Duplex, last = ''): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  // A connection that closes with bytes unread is reset, and a client that was still sending would lose the response.
  socket.resume()
  socket.end(last)
}
