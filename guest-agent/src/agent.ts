import type { Server } from 'node:net'
import type { Config } from './config.ts'
import { createRoutes } from './routes.ts'
import { createAgentServer } from './server.ts'
import { stopEngineBridges } from './system/engine-bridges.ts'

export { parts } from './parts.ts'

/** The agent inside a machine, on the socket that `listen` has opened. */
export function serveAgent(config: Config, listener: Server): void {
  const server = createAgentServer(createRoutes(config))
  listener.on('connection', (socket) => server.emit('connection', socket))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void stopEngineBridges().finally(() => process.exit(0)))
  }
}
