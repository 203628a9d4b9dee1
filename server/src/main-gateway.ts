import { startPreviewServer } from './gateway/previews/server.ts'
import { createGateway } from './gateway/server.ts'
import { closeHttp } from './http/server.ts'
import { runService } from './process.ts'

/** The real-time gateway, and previews where there is a domain for them. */
await runService('gateway', async (app) => {
  const http = await createGateway(app)
  await http.listen({ host: app.config.bind, port: app.config.gatewayPort })
  const { previews } = app.config
  const previewServer = previews && (await startPreviewServer(app, previews))
  return {
    async stop() {
      await previewServer?.close()
      await closeHttp(http)
    },
  }
})
