import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { pingDatabase } from '../db/readiness.ts'
import { getDefaultImage } from '../domain/disks/images.ts'
import { ApiError } from '../errors.ts'

/** Routes every role has: alive, and able to serve. */
export function addHealthRoutes(http: FastifyInstance, app: Pick<App, 'db' | 'driver'>): void {
  http.get('/healthz', async () => ({ status: 'ok' }))
  http.get('/readyz', async () => {
    await check('the database', () => pingDatabase(app.db))
    await check('the engine', () => app.driver.ping())
    await check('the machine image', async () => {
      const image = await getDefaultImage(app.db)
      if (!image) throw new Error('no image is registered')
      if (!(await app.driver.hasImage(image.id))) throw new Error('the image is being unpacked')
    })
    return { status: 'ready' }
  })
}

async function check(what: string, probe: () => Promise<unknown>): Promise<void> {
  try {
    await probe()
  } catch (cause) {
    throw new ApiError('compute_unavailable', `${what} is not usable yet`, {
      cause,
      retryAfter: 1,
    })
  }
}
