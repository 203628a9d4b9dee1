import type { CaptureId, ImageId } from '@computer/contract'
import { readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { CaptureMissing, DriverError, ImageMissing, type Transfer } from '../machine-driver.ts'
import { asPoolFull, requireFreeSpace } from './disks/capacity.ts'
import { diskFolder, exists, type HostPool } from './disks/host-pool.ts'
import {
  emptyFolder,
  receiveSubvolume,
  removeFolder,
  removeSubvolume,
  sendSubvolume,
  type Base,
} from './disks/transfer.ts'
import type { Engine } from './engine.ts'
import { findImage } from './images.ts'
import { aliasOf, captureBody, captureIdOf, captureNameOf, receivedNameOf } from './instance.ts'
import { findInstance, imageOf, isComplete, removeInstance } from './instances.ts'

/*
 * Captures on their way between hosts. A stream is received beside the engine's disks; then an instance is made from the
 * image, its disk is exchanged for the received one, and it gets the capture's name. So an instance with the name of a
 * capture has all of its disk.
 */

/** Longer than any disk takes to arrive. */
const abandonedAfterMs = 24 * 60 * 60_000

export async function sendCapture(
  engine: Engine,
  id: CaptureId,
  transfer: Transfer,
): Promise<Readable> {
  const pool = await requirePool(engine)
  const name = captureNameOf(id)
  const capture = await findInstance(engine, name)
  if (!capture || !isComplete(capture)) throw new CaptureMissing(id)
  const disk = { folder: diskFolder(pool, name), isReadOnly: false }
  return sendSubvolume(disk, await findBase(pool, imageOf(capture), transfer))
}

export async function receiveCapture(
  engine: Engine,
  id: CaptureId,
  transfer: Transfer,
  stream: Readable,
): Promise<void> {
  // It may break off before anybody reads it.
  stream.on('error', () => {})
  const pool = await requirePool(engine)
  const name = captureNameOf(id)
  const found = await findInstance(engine, name)
  if (found && isComplete(found)) return void stream.destroy()
  const fingerprint = await findImage(engine.client, transfer.imageId)
  if (fingerprint === undefined) throw new ImageMissing(transfer.imageId)
  await requireFreeSpace(engine.client, engine.config)
  const folder = join(receivedFolder(pool), name)
  try {
    await emptyFolder(folder)
    const base = await findBase(pool, fingerprint, transfer)
    await adopt(engine, pool, id, transfer, await receiveSubvolume(folder, base, stream))
  } catch (error) {
    throw asPoolFull(error)
  } finally {
    await removeFolder(folder)
  }
}

async function adopt(
  engine: Engine,
  pool: HostPool,
  id: CaptureId,
  { imageId }: Transfer,
  received: string,
): Promise<void> {
  const { client, project } = engine
  const name = receivedNameOf(id)
  await removeInstance(engine, name)
  const source = { type: 'image', alias: aliasOf(imageId) }
  const body = { ...captureBody(engine.config), name, source }
  const query = { project, ...(await engine.readTarget()) }
  await client.change('POST', '/1.0/instances', { query, body })
  const disk = diskFolder(pool, name)
  await removeSubvolume(disk)
  await rename(received, disk)
  await client.change('POST', `/1.0/instances/${name}`, {
    query: { project },
    body: { name: captureNameOf(id) },
  })
}

/** Removes what a process left behind that was killed while it received a capture. */
export async function sweepTransfers(engine: Engine, pool: HostPool): Promise<void> {
  for (const name of await readdir(receivedFolder(pool)).catch(() => [])) {
    const folder = join(receivedFolder(pool), name)
    const id = captureIdOf(name)
    const { mtimeMs } = await stat(folder)
    if (id === undefined || Date.now() - mtimeMs < abandonedAfterMs) continue
    await removeInstance(engine, receivedNameOf(id))
    await removeFolder(folder)
  }
}

/** One folder for each capture that is being received. */
function receivedFolder(pool: HostPool): string {
  return join(pool.folder, 'received')
}

async function findBase(pool: HostPool, fingerprint: string, transfer: Transfer): Promise<Base> {
  const { imageId, base } = transfer
  if (base === null) return findImageBase(pool, fingerprint, imageId)
  const folder = diskFolder(pool, captureNameOf(base))
  if (!(await exists(folder))) throw new CaptureMissing(base)
  return { folder, name: captureBaseName(base), isReadOnly: false }
}

export async function findImageBase(
  pool: HostPool,
  fingerprint: string,
  imageId: ImageId,
): Promise<Base> {
  const folder = join(pool.folder, 'images', fingerprint)
  if (!(await exists(folder))) throw new ImageMissing(imageId)
  return { folder, name: `image ${fingerprint}`, isReadOnly: true }
}

/** The name of a base that is a capture where its stream is received. */
export function captureBaseName(id: CaptureId): string {
  return `capture ${id}`
}

export async function requirePool(engine: Engine): Promise<HostPool> {
  const pool = await engine.openPool()
  if (pool) return pool
  throw new DriverError('disks can be moved only between engines on the hosts of their workers', {
    retryable: false,
  })
}
