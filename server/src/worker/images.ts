import { getDefaultImage } from '../domain/disks/images.ts'
import { pause } from '../pace.ts'
import type { WorkerApp } from './app.ts'

const retryMs = 5_000

/** Adds the image that new machines are made from to the engine, whenever it lacks it. */
export async function prepareImages(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await addMissing(app)
    } catch (error) {
      app.log.warn({ err: error }, 'the machine image is not in the engine yet')
    }
    await pause(retryMs, signal)
  }
}

async function addMissing(app: WorkerApp): Promise<void> {
  const image = await getDefaultImage(app.db)
  if (!image || (await app.driver.hasImage(image.id))) return
  app.log.info({ image_id: image.id }, 'adding the machine image to the engine')
  await app.driver.addImage(image.id, {
    metadataPath: image.metadata_path,
    rootfsPath: image.rootfs_path,
  })
  app.log.info({ image_id: image.id }, 'the machine image is ready')
}
