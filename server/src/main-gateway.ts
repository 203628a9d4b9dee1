import { createGateway } from './gateway/server.ts'
import { closeHttp } from './http.ts'
import { runRole } from './role.ts'

/** The real-time gateway. */
await runRole('gateway', async (app) => {
  const http = await createGateway(app)
  await http.listen({ host: app.config.bind, port: app.config.gatewayPort })
  return { stop: () => closeHttp(http) }
})
