import { commit, type Subvolume } from './btrfs.ts'
import { sizeOf } from './size.ts'
import { measureFreed, measureHeld, readDisks, type MachineDisk } from './measure.ts'
import type { Engine } from '../engine.ts'
import { diskFolder, exists, type HostPool } from './host-pool.ts'
import { refOf } from '../instance.ts'
import { imageOf, isComplete, listInstances, removeInstance } from '../instances.ts'
import {
  isAtRest,
  limitFor,
  mattersAtFirst,
  mayMatter,
  narrowedLimit,
  type DiskState,
} from './limit-policy.ts'
import { readQuota, readTransaction, setLimit } from './quotas.ts'

/** Keeps the limits of disks true (limit-policy.ts), where the pool is on this host. */
export type DiskLimits = {
  /** Looks at every disk for which it may matter. */
  tend(): Promise<void>
  /** Sets the limit of a disk whose size was changed. */
  settle(instance: string): Promise<void>
  /** Removes a capture, so that its machine does not find more room by that than it has. */
  removeCapture(capture: string): Promise<void>
}

/** A disk rests for so many times what the last walk over it took. */
const restFactor = 20
/** A look takes two commits of the file system, however many disks are looked at. */
const atOnce = 8

export function createDiskLimits(engine: Engine): DiskLimits {
  /** By the number of the disk, which the file system gives only once. */
  const known = new Map<number, Known>()
  const removing = new Set<string>()
  let last: Promise<void> = Promise.resolve()
  let tending: Promise<void> | undefined

  return {
    tend() {
      tending ??= inTurn(tend).finally(() => (tending = undefined))
      return tending
    },
    settle: (instance) => inTurn((pool) => settle(pool, instance)),
    async removeCapture(capture) {
      // Until the disk of the capture is gone, nothing else tells that it will be.
      removing.add(capture)
      try {
        await orWarn(inTurn((pool) => narrow(pool, capture)))
        await removeInstance(engine, capture)
        engine.heldBytes.delete(capture)
      } finally {
        removing.delete(capture)
      }
      // Its room would be freed with the next commit, and that within half a minute.
      const pool = await engine.openPool()
      if (pool) await orWarn(commit(pool.folder))
    },
  }

  /** A pool without any room may refuse what goes with a removal, and must be given room all the same. */
  function orWarn(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      engine.config.warn('the limit of a disk may not be true for a while', { err: error })
    })
  }

  /** One at a time: two would undo each other's limits. */
  function inTurn(work: (pool: HostPool) => Promise<void>): Promise<void> {
    const turn = last.then(async () => {
      const pool = await engine.openPool()
      if (pool) await work(pool)
    })
    last = turn.catch(() => {})
    return turn
  }

  async function tend(pool: HostPool): Promise<void> {
    const { machines } = await readDisks(pool, removing)
    const ids = new Set(machines.map(({ id }) => id))
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    if (machines.some(({ id }) => !known.has(id))) await learn(machines)

    const due: MachineDisk[] = []
    for (const disk of machines) {
      const facts = known.get(disk.id)
      if (!facts || facts.restsUntilMs > performance.now()) continue
      const { seen } = facts
      if (seen && isAtRest(seen) && disk.captures === '') continue
      const now = await readState(pool, disk, facts.sizeBytes)
      if (!now) continue
      if (seen ? mayMatter(seen, now) : mattersAtFirst(now)) due.push(disk)
      else if (!seen) known.set(disk.id, { ...facts, seen: now })
    }
    for (let from = 0; from < due.length; from += atOnce) {
      await look(pool, due.slice(from, from + atOnce))
    }
  }

  async function settle(pool: HostPool, instance: string): Promise<void> {
    const disk = (await readDisks(pool, removing)).machines.find((one) => one.instance === instance)
    if (!disk) return
    // Where this fails, the next pass sees it as if for the first time.
    known.delete(disk.id)
    await look(pool, [disk])
  }

  async function narrow(pool: HostPool, capture: string): Promise<void> {
    const { machines, captures } = await readDisks(pool, removing)
    const copy = captures.get(capture)
    const disk = copy && machines.find(({ uuid }) => uuid === copy.parentUuid)
    if (!disk) return
    if (!known.has(disk.id)) await learn([disk])
    const now = await readState(pool, disk, known.get(disk.id)?.sizeBytes ?? 0)
    if (!now || narrowedLimit(now, Infinity) === now.limitBytes) return
    const limitBytes = narrowedLimit(now, await measureFreed(pool, disk, capture))
    await setLimit(pool, disk.id, limitBytes)
  }

  /** Sizes change by `settle`, or by another server of this host, which then looks itself. */
  async function learn(disks: readonly MachineDisk[]): Promise<void> {
    const told = await askEngine(engine)
    for (const { id, instance } of disks) {
      const sizeBytes = told.get(instance)?.sizeBytes
      if (sizeBytes === undefined || known.has(id)) continue
      known.set(id, { sizeBytes, seen: undefined, restsUntilMs: 0 })
    }
  }

  async function look(pool: HostPool, due: readonly MachineDisk[]): Promise<void> {
    const told = await askEngine(engine)
    // What was written and freed counts in the quotas from the next commit on. What is freed during
    // the walk is missing in the second count.
    await commit(pool.folder)
    const { machines, images } = await readDisks(pool, removing)
    const walks: Walk[] = []
    for (const { id } of due) {
      const disk = machines.find((one) => one.id === id)
      const facts = disk && told.get(disk.instance)
      const done = facts && (await walk(pool, disk, images.get(facts.image)))
      if (done) walks.push({ ...done, sizeBytes: facts.sizeBytes })
    }
    await commit(pool.folder)
    for (const { disk, sizeBytes, chargedBytes, heldBytes, tookMs } of walks) {
      const now = await readState(pool, disk, sizeBytes)
      if (!now) continue
      const lower = Math.min(chargedBytes, now.chargedBytes)
      const limitBytes = limitFor({ ...now, chargedBytes: lower }, heldBytes)
      if (limitBytes !== now.limitBytes) await setLimit(pool, disk.id, limitBytes)
      const restsUntilMs = performance.now() + tookMs * restFactor
      known.set(disk.id, { sizeBytes, seen: { ...now, limitBytes }, restsUntilMs })
    }
  }
}

type Known = {
  readonly sizeBytes: number
  /** As it was when it was looked at last. */
  readonly seen: DiskState | undefined
  readonly restsUntilMs: number
}

type Walk = {
  readonly disk: MachineDisk
  readonly sizeBytes: number
  readonly chargedBytes: number
  readonly heldBytes: number
  readonly tookMs: number
}

type Told = ReadonlyMap<string, { readonly sizeBytes: number; readonly image: string }>

/** Sizes, and the images that disks began with: the file system knows neither. */
async function askEngine(engine: Engine): Promise<Told> {
  const instances = (await listInstances(engine)).filter(
    (one) => refOf(one.name) !== undefined && isComplete(one),
  )
  return new Map(
    instances.map((one) => [one.name, { sizeBytes: sizeOf(one), image: imageOf(one) }]),
  )
}

/** Undefined of a disk that is removed meanwhile. */
async function walk(
  pool: HostPool,
  disk: MachineDisk,
  image: Subvolume | undefined,
): Promise<Omit<Walk, 'sizeBytes'> | undefined> {
  const begun = performance.now()
  try {
    const { chargedBytes } = await readQuota(pool, disk.id)
    const heldBytes = await measureHeld(pool, disk.instance, disk, image)
    return { disk, chargedBytes, heldBytes, tookMs: performance.now() - begun }
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
  const { captures, isThinning, inherits } = disk
  const quota = await readQuota(pool, disk.id).catch(() => undefined)
  if (!quota) return undefined
  const transaction = await readTransaction(pool)
  return { ...quota, sizeBytes, captures, isThinning, inherits, transaction }
}
