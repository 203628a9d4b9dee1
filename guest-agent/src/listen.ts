import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname } from 'node:path'

/**
 * Opens the agent's socket, then calls `serve`. A boot waits for the agent, and loading the rest of it
 * takes longer than starting Node: a caller can connect meanwhile, and waits in `listener` until
 * `serve` has added what handles connections.
 */
export function listen(path: string, serve: (listener: Server) => void): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  rmSync(path, { force: true })
  const listener = createServer()
  // The socket must not be accessible to others, not even between bind and chmod.
  process.umask(0o177)
  listener.listen(path, () => {
    process.umask(0o022)
    chmodSync(path, 0o600)
    // Connections are accepted when this callback has returned.
    serve(listener)
  })
}
