import type { ImageId } from '@computer/contract'
import { createWriteStream } from 'node:fs'
import { access, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { getDefaultImage, getImage } from '../domain/disks/images.ts'
import { findHostWith, recordImage } from '../domain/hosts/hosts.ts'
import { fingerprintOf } from '../drivers/image-fingerprint.ts'
import { imageFileNames, type ImageFiles } from '../drivers/machine-driver.ts'
import { pause } from '../pace.ts'
import type { WorkerApp } from './worker-app.ts'

/** Adds the default image to the engine whenever the engine lacks it. */
export async function prepareImages(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const image = await getDefaultImage(app.db)
      if (image) {
        await addImage(app, image.id)
        await recordImage(app, image.id)
      }
    } catch (error) {
      app.log.warn({ err: error }, 'could not add the machine image to the engine; will retry')
    }
    await pause(app.timing.imagePollMs, signal)
  }
}

/** Adds an image that the engine may lack, from a host that has it if this one did not build it. */
export async function addImage(app: WorkerApp, id: ImageId, from?: string): Promise<void> {
  if (await app.driver.hasImage(id)) return
  app.log.info({ image_id: id }, 'adding the machine image to the engine')
  const built = await findBuilt(app, id)
  if (built) {
    await app.driver.addImage(id, built)
  } else {
    const host = from ?? (await findHostWith(app, id))
    if (host === undefined) throw new Error(`no host that answers has the files of image ${id}`)
    await addFrom(app, id, host)
  }
  app.log.info({ image_id: id }, 'the machine image is ready')
}

/** The files that this host has built, if they are those that all hosts use. */
async function findBuilt(app: WorkerApp, id: ImageId): Promise<ImageFiles | null> {
  const image = await getImage(app.db, id)
  const files = { metadataPath: image.metadata_path, rootfsPath: image.rootfs_path }
  // A server with one host has no other files.
  if (app.config.hostAddress === null) return files
  try {
    await access(files.rootfsPath)
    return (await fingerprintOf(files)) === image.fingerprint ? files : null
  } catch {
    return null
  }
}

async function addFrom(app: WorkerApp, id: ImageId, host: string): Promise<void> {
  const folder = join(app.config.dataDir, 'run', `image-${id}`)
  const pathOf = (file: string) => join(folder, file)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    for (const file of imageFileNames) {
      const stream = await app.hosts.readImage(host, id, file)
      await pipeline(stream, createWriteStream(pathOf(file)))
    }
    const files = { metadataPath: pathOf('metadata'), rootfsPath: pathOf('rootfs') }
    await app.driver.addImage(id, files)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
