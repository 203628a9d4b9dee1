import type { CaptureId } from '@computer/contract'
import { execFile } from 'node:child_process'
import { mkdir, readdir, rmdir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Disk, DiskKeeper, KeptDisk } from '../disk-keeper.ts'
import { CaptureMissing, DriverError, ImageMissing, type Transfer } from '../machine-driver.ts'
import { asPoolFull } from './disks/capacity.ts'
import { diskFolder, exists, type HostPool } from './disks/host-pool.ts'
import type { DiskLimits } from './disks/limits.ts'
import { removeSubvolume, sendSubvolume, type Base } from './disks/transfer.ts'
import type { Engine } from './engine.ts'
import { findImage } from './images.ts'
import { captureIdOf, captureNameOf, nameOf, refOf } from './instance.ts'
import { findInstance, isComplete, listInstances, type Instance } from './instances.ts'
import { captureBaseName, findImageBase, requirePool } from './transfer.ts'

/*
 * Kept disks are read-only snapshots in the pool: kept/KEEPER/INSTANCE/ID. The limits of disks treat them as they
 * treat captures (disks/measure.ts), because they are copies of the machine's disk too. The engine does not know them,
 * so the sweep removes those that nobody needs: of instances that are gone, and of keepers that are used no more.
 */

const run = promisify(execFile)

/** A keeper that is in use says so this often. */
const renewEveryMs = 60_000
/** Until then, a keeper may be in use. */
const inUseMs = 10 * 60_000
/** The bases of a folder that got no backup for so long are given up. Its next backup is a full one. */
const abandonedAfterMs = 30 * 24 * 60 * 60_000
const keepAttempts = 20

/** Throws if the engine is not on this host. `keeper` is a name of lower-case letters and digits. */
export async function openDiskKeeper(
  engine: Engine,
  limits: DiskLimits,
  keeper: string,
): Promise<DiskKeeper> {
  const pool = await requirePool(engine)
  const folder = join(keptFolder(pool), keeper)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const renew = () => void utimes(folder, new Date(), new Date()).catch(() => {})
  renew()
  const timer = setInterval(renew, renewEveryMs).unref()
  const pathOf = ({ disk, id }: KeptDisk) => join(folder, instanceOf(disk), id)

  return {
    async listDisks() {
      return (await listInstances(engine)).flatMap((one) => diskOf(one.name) ?? [])
    },
    keep: async (disk, id) => keepDisk(engine, pool, disk, pathOf({ disk, id })),
    async listKept() {
      const kept: KeptDisk[] = []
      for (const instance of await readdir(folder)) {
        const disk = diskOf(instance)
        for (const id of disk ? await readdir(join(folder, instance)) : []) {
          kept.push({ disk: disk!, id: id as CaptureId })
        }
      }
      return kept
    },
    async send(kept, transfer) {
      const end = { folder: pathOf(kept), isReadOnly: true }
      return sendSubvolume(end, await findBase(engine, pool, join(end.folder, '..'), transfer))
    },
    drop: (kept) => dropKept(limits, pathOf(kept)),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
    },
  }
}

/** Removes the kept disks of instances that are gone, and those of keepers that are used no more. */
export async function sweepKept(engine: Engine, limits: DiskLimits, pool: HostPool): Promise<void> {
  for (const keeper of await readdir(keptFolder(pool)).catch(() => [])) {
    const folder = join(keptFolder(pool), keeper)
    const idleMs = Date.now() - (await stat(folder)).mtimeMs
    if (idleMs < inUseMs) continue
    const names = new Set((await listInstances(engine)).map(({ name }) => name))
    const instances = await readdir(folder)
    const stale = instances.filter((name) => idleMs > abandonedAfterMs || !names.has(name))
    for (const instance of stale) {
      for (const id of await readdir(join(folder, instance))) {
        await dropKept(limits, join(folder, instance, id))
      }
    }
    // A removal changes the time of the folder, which would look like use.
    const lastUse = new Date(Date.now() - idleMs)
    if (stale.length === instances.length) await rmdir(folder).catch(() => {})
    else if (stale.length > 0) await utimes(folder, lastUse, lastUse)
  }
}

async function dropKept(limits: DiskLimits, path: string): Promise<void> {
  if (await exists(path)) await limits.removeCopy(path, () => removeSubvolume(path))
  // Others of the same disk may be beside it.
  await rmdir(join(path, '..')).catch(() => {})
}

async function keepDisk(
  engine: Engine,
  pool: HostPool,
  disk: Disk,
  path: string,
): Promise<boolean> {
  const name = instanceOf(disk)
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  for (let attempt = 1; attempt <= keepAttempts; attempt += 1) {
    const instance = await findInstance(engine, name)
    if (!instance || !isComplete(instance)) {
      await rmdir(join(path, '..')).catch(() => {})
      return false
    }
    if (await snapshotAtRest(engine, instance, diskFolder(pool, name), path)) return true
  }
  throw new DriverError(`${name} keeps changing its state, so its disk could not be kept`, {
    retryable: true,
  })
}

/** Returns false, and leaves nothing, if the machine may have written meanwhile or is gone. */
async function snapshotAtRest(
  engine: Engine,
  instance: Instance,
  from: string,
  path: string,
): Promise<boolean> {
  const { name } = instance
  // The process that froze it thaws it. Releasing a hold of ours would thaw it too early.
  const isFrozen = () => engine.freezer.isFrozen(name)
  const wasFrozen = instance.status === 'Frozen' || (await isFrozen())
  const hold =
    wasFrozen || instance.status === 'Stopped' ? undefined : await engine.freezer.freeze(name)
  let isAtRest = false
  try {
    await run('btrfs', ['subvolume', 'snapshot', '-r', from, path])
    if (hold) isAtRest = await hold.isStillFrozen()
    else isAtRest = wasFrozen ? await isFrozen() : await isStopped(engine, name)
  } catch (error) {
    if (await exists(from)) throw asPoolFull(error)
  } finally {
    await hold?.release()
  }
  if (!isAtRest && (await exists(path))) await removeSubvolume(path)
  return isAtRest
}

/** An instance that was removed meanwhile was stopped before. */
async function isStopped(engine: Engine, name: string): Promise<boolean> {
  const instance = await findInstance(engine, name)
  return instance === undefined || instance.status === 'Stopped'
}

async function findBase(
  engine: Engine,
  pool: HostPool,
  siblings: string,
  { imageId, base }: Transfer,
): Promise<Base> {
  if (base === null) {
    const fingerprint = await findImage(engine.client, imageId)
    if (fingerprint === undefined) throw new ImageMissing(imageId)
    return findImageBase(pool, fingerprint, imageId)
  }
  const folder = join(siblings, base)
  if (!(await exists(folder))) throw new CaptureMissing(base)
  return { folder, name: captureBaseName(base), isReadOnly: true }
}

/** One folder for each keeper. */
function keptFolder(pool: HostPool): string {
  return join(pool.folder, 'kept')
}

function instanceOf(disk: Disk): string {
  return disk.kind === 'capture' ? captureNameOf(disk.id) : nameOf(disk.ref)
}

function diskOf(instance: string): Disk | undefined {
  const ref = refOf(instance)
  if (ref) return { kind: 'machine', ref }
  const id = captureIdOf(instance)
  return id === undefined ? undefined : { kind: 'capture', id }
}
