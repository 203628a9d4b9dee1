import { markWorkerReady } from './host/worker-readiness.ts'
import { addFigures } from './metrics/figures.ts'
import { runService } from './process.ts'
import { runWorker } from './worker/loop.ts'

/** The reconcilers. */
await runService('worker', async (app) => {
  addFigures(app)
  await app.driver.prepare()
  const stopping = new AbortController()
  const working = runWorker(app, stopping.signal, () => markWorkerReady(app.config.dataDir))
  return {
    async stop() {
      stopping.abort()
      await working
    },
  }
})
