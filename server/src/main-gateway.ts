import { closeHttp, createHttp } from './http.ts'
import { addHealthRoutes } from './health.ts'
import { runRole } from './role.ts'

/** The real-time gateway. */
await runRole('gateway', async (app) => {
  const http = createHttp(app)
  addHealthRoutes(http, app)
  await http.listen({ host: app.config.bind, port: app.config.gatewayPort })
  return { stop: () => closeHttp(http) }
})
