import type { WorkerApp } from './machines.ts'

const retryMs = 5_000

/** Adds every image that machines may still be made from to the engine, the default one first. */
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
  const images = await app.db
    .selectFrom('images')
    .selectAll()
    .where('is_default', '=', true)
    .execute()
  for (const image of images) {
    if (await app.driver.hasImage(image.id)) continue
    app.log.info({ image_id: image.id }, 'adding the machine image to the engine')
    await app.driver.addImage(image.id, {
      metadataPath: image.metadata_path,
      rootfsPath: image.rootfs_path,
    })
    app.log.info({ image_id: image.id }, 'the machine image is ready')
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
