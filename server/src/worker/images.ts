import { getDefaultImage } from '../domain/disks/images.ts'
import { pause } from '../pace.ts'
import type { WorkerApp } from './worker-app.ts'

/** Adds the default image to the engine whenever the engine lacks it. */
export async function prepareImages(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await addMissing(app)
    } catch (error) {
      app.log.warn({ err: error }, 'could not add the machine image to the engine; will retry')
    }
    await pause(app.timing.imagePollMs, signal)
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
