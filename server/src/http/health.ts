import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { pingDatabase } from '../db/readiness.ts'
import { getDefaultImage } from '../domain/disks/images.ts'
import { isAnyOtherReady } from '../domain/hosts/hosts.ts'
import { ApiError } from '../errors.ts'

/**
 * Liveness and readiness, served by every process. A process stays ready without the engine of its host while another
 * host can run machines.
 */
export function addHealthRoutes(
  http: FastifyInstance,
  app: Pick<App, 'db' | 'driver' | 'config'>,
): void {
  http.get('/healthz', async () => ({ status: 'ok' }))
  http.get('/readyz', async () => {
    await check('the database', () => pingDatabase(app.db))
    const image = await getDefaultImage(app.db)
    if (image && (await isAnyOtherReady(app, image.id))) return { status: 'ready' }
    await check('the engine', () => app.driver.ping())
    await check('the machine image', async () => {
      if (!image) throw new Error('no image is registered')
      if (!(await app.driver.hasImage(image.id)))
        throw new Error('the engine is still unpacking the image')
    })
    return { status: 'ready' }
  })
}

async function check(what: string, probe: () => Promise<unknown>): Promise<void> {
  try {
    await probe()
  } catch (cause) {
    throw new ApiError('compute_unavailable', `${what} is not ready`, {
      cause,
      retryAfter: 1,
    })
  }
}
