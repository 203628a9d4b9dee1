import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { stopEngineBridges } from './system/engine-bridges.ts'
import { readConfig } from './config.ts'
import { Fence } from './fence.ts'
import { readHealth } from './health.ts'
import { createAgentServer } from './server.ts'

/**
 * The agent inside a machine. A boot waits for the first answer to /health, so only the HTTP/2
 * server is loaded before it listens; routes and their schemas are loaded right after, the image
 * library and the X connection with the first call that needs them.
 */
const config = readConfig(process.env)
const fence = new Fence()
const loadRoutes = once(async () => (await import('./routes.ts')).createRoutes(config, fence))
const server = createAgentServer({ readHealth: () => readHealth(fence), loadRoutes })

mkdirSync(dirname(config.socketPath), { recursive: true, mode: 0o755 })
rmSync(config.socketPath, { force: true })
// The socket must not be accessible to others, not even between bind and chmod.
process.umask(0o177)
server.listen(config.socketPath, () => {
  process.umask(0o022)
  chmodSync(config.socketPath, 0o600)
  setTimeout(() => void loadRoutes(), 1)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void stopEngineBridges().finally(() => process.exit(0)))
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
