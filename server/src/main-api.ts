import { createApi } from './api/server.ts'
import { closeHttp } from './http.ts'
import { runRole } from './role.ts'

/** The HTTP API. */
await runRole('api', async (app) => {
  const http = createApi(app)
  await http.listen({ host: app.config.bind, port: app.config.apiPort })
  return { stop: () => closeHttp(http) }
})
