import { createApi } from './api/server.ts'
import { closeHttp } from './http/server.ts'
import { runService } from './process.ts'

/** The HTTP API. */
await runService('api', async (app) => {
  const http = createApi(app)
  await http.listen({ host: app.config.bind, port: app.config.apiPort })
  return { stop: () => closeHttp(http) }
})
