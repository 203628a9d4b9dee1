import { basename } from 'node:path'
import { commit, type Subvolume } from './btrfs.ts'
import { sizeOf } from './engine-limits.ts'
import { measureContent, measureFreed, readDisks, type MachineDisk } from './measure.ts'
import type { Engine } from '../engine.ts'
import { diskFolder, exists, type HostPool } from './host-pool.ts'
import { refOf } from '../instance.ts'
import { imageOf, isComplete, listInstances, removeInstance } from '../instances.ts'
import {
  isExact,
  limitFor,
  loweredLimit,
  needsFirstScan,
  needsRescan,
  type DiskState,
} from './limit-policy.ts'
import { readQuota, readTransaction, setLimit } from './quotas.ts'

/** Keeps the limits of disks correct (limit-policy.ts) where the pool is on this host. */
export type DiskLimits = {
  /** Scans every disk that may need another limit. */
  adjustAll(): Promise<void>
  /** Sets the limit of a disk whose size was changed. */
  refreshLimit(instance: string): Promise<void>
  /** Removes a capture as `removeCopy` does. */
  removeCapture(capture: string): Promise<void>
  /** Removes a copy of a machine's disk without giving the machine more space than its size allows. */
  removeCopy(folder: string, remove: () => Promise<void>): Promise<void>
}

/** Back off: skip a disk for this many times as long as its last scan took. */
const backoffFactor = 20
/** A batch costs two commits of the file system, however many disks are in it. */
const batchSize = 8

export function createDiskLimits(engine: Engine): DiskLimits {
  /** By subvolume id, which the file system never reuses. */
  const tracked = new Map<number, TrackedDisk>()
  const removing = new Set<string>()
  let last: Promise<void> = Promise.resolve()
  let adjusting: Promise<void> | undefined

  return {
    adjustAll() {
      adjusting ??= serialize(adjustAll).finally(() => (adjusting = undefined))
      return adjusting
    },
    refreshLimit: (instance) => serialize((pool) => refreshLimit(pool, instance)),
    async removeCapture(capture) {
      const pool = await engine.openPool()
      const remove = () => removeInstance(engine, capture)
      await (pool ? removeCopy(diskFolder(pool, capture), remove) : remove())
      engine.captureContentBytes.delete(capture)
    },
    removeCopy,
  }

  async function removeCopy(folder: string, remove: () => Promise<void>): Promise<void> {
    const name = basename(folder)
    // Until the copy is gone, nothing else shows that it is about to go.
    removing.add(name)
    try {
      await warnOnFailure(serialize((pool) => lowerLimit(pool, folder)))
      await remove()
    } finally {
      removing.delete(name)
    }
    // Frees the space now; the next periodic commit may be half a minute away.
    const pool = await engine.openPool()
    if (pool) await warnOnFailure(commit(pool.folder))
  }

  /** A full pool may refuse these steps, and the removal that frees it must still go ahead. */
  function warnOnFailure(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      engine.config.warn('could not adjust the limit of a disk; will retry', { err: error })
    })
  }

  /** One at a time, because concurrent updates would overwrite each other's limits. */
  function serialize(work: (pool: HostPool) => Promise<void>): Promise<void> {
    const turn = last.then(async () => {
      const pool = await engine.openPool()
      if (pool) await work(pool)
    })
    last = turn.catch(() => {})
    return turn
  }

  async function adjustAll(pool: HostPool): Promise<void> {
    const { machines } = await readDisks(pool, removing)
    const ids = new Set(machines.map(({ id }) => id))
    for (const id of tracked.keys()) if (!ids.has(id)) tracked.delete(id)
    if (machines.some(({ id }) => !tracked.has(id))) await track(machines)

    const due: MachineDisk[] = []
    for (const disk of machines) {
      const entry = tracked.get(disk.id)
      if (!entry || entry.nextScanAtMs > performance.now()) continue
      const { lastState } = entry
      if (lastState && isExact(lastState) && disk.captures === '') continue
      const now = await readState(pool, disk, entry.sizeBytes)
      if (!now) continue
      if (lastState ? needsRescan(lastState, now) : needsFirstScan(now)) due.push(disk)
      else if (!lastState) tracked.set(disk.id, { ...entry, lastState: now })
    }
    for (let from = 0; from < due.length; from += batchSize) {
      await scanDisks(pool, due.slice(from, from + batchSize))
    }
  }

  async function refreshLimit(pool: HostPool, instance: string): Promise<void> {
    const disk = (await readDisks(pool, removing)).machines.find((one) => one.instance === instance)
    if (!disk) return
    // If the scan fails, the next pass treats the disk as new.
    tracked.delete(disk.id)
    await scanDisks(pool, [disk])
  }

  async function lowerLimit(pool: HostPool, folder: string): Promise<void> {
    const { machines, named } = await readDisks(pool, removing)
    const copy = named.get(basename(folder))
    const disk = copy && machines.find(({ uuid }) => uuid === copy.parentUuid)
    if (!disk) return
    if (!tracked.has(disk.id)) await track([disk])
    const now = await readState(pool, disk, tracked.get(disk.id)?.sizeBytes ?? 0)
    if (!now || loweredLimit(now, Infinity) === now.limitBytes) return
    const limitBytes = loweredLimit(now, await measureFreed(pool, disk, folder))
    await setLimit(pool, disk.id, limitBytes)
  }

  /** A size changes by `refreshLimit`, or by another server of this host, which then adjusts the limit. */
  async function track(disks: readonly MachineDisk[]): Promise<void> {
    const facts = await readInstanceFacts(engine)
    for (const { id, instance } of disks) {
      const sizeBytes = facts.get(instance)?.sizeBytes
      if (sizeBytes === undefined || tracked.has(id)) continue
      tracked.set(id, { sizeBytes, lastState: undefined, nextScanAtMs: 0 })
    }
  }

  async function scanDisks(pool: HostPool, due: readonly MachineDisk[]): Promise<void> {
    const facts = await readInstanceFacts(engine)
    // Quotas count a write or a removal only once it is committed. Whatever is freed during the scan
    // is missing from the second count, so the lower of the two is the safe one.
    await commit(pool.folder)
    const { machines, images } = await readDisks(pool, removing)
    const scans: Scan[] = []
    for (const { id } of due) {
      const disk = machines.find((one) => one.id === id)
      const known = disk && facts.get(disk.instance)
      const scan = known && (await scanDisk(pool, disk, images.get(known.image)))
      if (scan) scans.push({ ...scan, sizeBytes: known.sizeBytes })
    }
    await commit(pool.folder)
    for (const { disk, sizeBytes, chargedBytes, contentBytes, tookMs } of scans) {
      const now = await readState(pool, disk, sizeBytes)
      if (!now) continue
      const lower = Math.min(chargedBytes, now.chargedBytes)
      const limitBytes = limitFor({ ...now, chargedBytes: lower }, contentBytes)
      if (limitBytes !== now.limitBytes) await setLimit(pool, disk.id, limitBytes)
      const nextScanAtMs = performance.now() + tookMs * backoffFactor
      tracked.set(disk.id, { sizeBytes, lastState: { ...now, limitBytes }, nextScanAtMs })
    }
  }
}

type TrackedDisk = {
  readonly sizeBytes: number
  /** As of the last pass that read it. */
  readonly lastState: DiskState | undefined
  readonly nextScanAtMs: number
}

type Scan = {
  readonly disk: MachineDisk
  readonly sizeBytes: number
  readonly chargedBytes: number
  readonly contentBytes: number
  readonly tookMs: number
}

type InstanceFacts = { readonly sizeBytes: number; readonly image: string }

/** Disk sizes and base images, which only the engine knows. */
async function readInstanceFacts(engine: Engine): Promise<ReadonlyMap<string, InstanceFacts>> {
  const instances = (await listInstances(engine)).filter(
    (one) => refOf(one.name) !== undefined && isComplete(one),
  )
  return new Map(
    instances.map((one) => [one.name, { sizeBytes: sizeOf(one), image: imageOf(one) }]),
  )
}

/** Undefined when the disk is removed meanwhile. */
async function scanDisk(
  pool: HostPool,
  disk: MachineDisk,
  image: Subvolume | undefined,
): Promise<Omit<Scan, 'sizeBytes'> | undefined> {
  const begun = performance.now()
  try {
    const { chargedBytes } = await readQuota(pool, disk.id)
    const contentBytes = await measureContent(pool, disk.instance, disk, image)
    return { disk, chargedBytes, contentBytes, tookMs: performance.now() - begun }
  } catch (error) {
    if (await exists(diskFolder(pool, disk.instance))) throw error
    return undefined
  }
}

async function readState(
  pool: HostPool,
  disk: MachineDisk,
  sizeBytes: number,
): Promise<DiskState | undefined> {
  const { captures, isShrinking, inherits } = disk
  const quota = await readQuota(pool, disk.id).catch(() => undefined)
  if (!quota) return undefined
  const transaction = await readTransaction(pool)
  return { ...quota, sizeBytes, captures, isShrinking, inherits, transaction }
}
