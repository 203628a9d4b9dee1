import { ExtentSet, measureWritten, readSubvolumes, type Subvolume } from './btrfs.ts'
import { captureIdOf, refOf } from '../instance.ts'
import { diskFolder, instanceOf, type HostPool } from './host-pool.ts'

/** The disks of a pool, as its file system lists them. */
export type PoolDisks = {
  readonly machines: readonly MachineDisk[]
  /** By instance name. */
  readonly captures: ReadonlyMap<string, Subvolume>
  /** All subvolumes, by the last part of their path. */
  readonly named: ReadonlyMap<string, Subvolume>
  /** By fingerprint. */
  readonly images: ReadonlyMap<string, Subvolume>
}

export type MachineDisk = Subvolume & {
  readonly instance: string
  /** The ids of its captures, joined for comparison. */
  readonly captures: string
  /** Captures of it are being removed, and not all of their space is free yet. */
  readonly isShrinking: boolean
  /** It was made from a capture instead of an image. */
  readonly inherits: boolean
}

/** `removing` names subvolumes whose removal has begun. */
export async function readDisks(
  pool: HostPool,
  removing: ReadonlySet<string> = new Set(),
): Promise<PoolDisks> {
  const subvolumes = await readSubvolumes(pool.folder)
  const captures = new Map<string, Subvolume>()
  const images = new Map<string, Subvolume>()
  const named = new Map<string, Subvolume>()
  const copies = Map.groupBy(subvolumes, ({ parentUuid }) => parentUuid)
  for (const one of subvolumes) {
    const name = one.name ?? ''
    named.set(name, one)
    const instance = instanceOf(pool.project, name)
    if (/^[0-9a-f]{64}$/.test(name)) images.set(name, one)
    if (instance !== undefined && captureIdOf(instance)) captures.set(instance, one)
  }
  const isBeingRemoved = ({ name }: Subvolume) => name === undefined || removing.has(name)
  const imageUuids = new Set(Array.from(images.values(), ({ uuid }) => uuid))
  const machines = subvolumes.flatMap((one): MachineDisk[] => {
    const instance = instanceOf(pool.project, one.name ?? '')
    if (instance === undefined || !refOf(instance)) return []
    const own = copies.get(one.uuid) ?? []
    return [
      {
        ...one,
        instance,
        captures: own.map(({ id }) => id).join(),
        isShrinking: own.some(isBeingRemoved),
        inherits: !imageUuids.has(one.parentUuid),
      },
    ]
  })
  return { machines, captures, images, named }
}

/** The data on a capture that its machine itself had written. */
export async function measureCapture(
  pool: HostPool,
  machine: MachineDisk,
  capture: string,
): Promise<number> {
  // The engine wrote to the copy afterwards.
  const span = { since: machine.madeIn, asMade: true }
  const { dataBytes, itemBytes } = await measureWritten(diskFolder(pool, capture), span)
  return dataBytes + Math.round(itemBytes * bytesPerItemByte)
}

/** The content of a disk beyond its image or, without an image, everything since it was made. */
export async function measureContent(
  pool: HostPool,
  instance: string,
  disk: Subvolume,
  image: Subvolume | undefined,
): Promise<number> {
  // An image that was unpacked again later shares nothing with the disk.
  const base = image && image.madeIn < disk.madeIn ? image : undefined
  const since = Math.min(disk.madeIn, base ? base.changedIn + 1 : Infinity)
  const { dataBytes, itemBytes } = await measureWritten(diskFolder(pool, instance), { since })
  return dataBytes + estimateBlocks(itemBytes, disk.treeBytes, base?.treeBytes)
}

/** An upper bound on the bytes that a machine is no longer charged for once a copy of its disk is gone. */
export async function measureFreed(
  pool: HostPool,
  machine: MachineDisk,
  copyFolder: string,
): Promise<number> {
  const span = { since: machine.madeIn }
  const counted = new ExtentSet()
  await measureWritten(diskFolder(pool, machine.instance), span, counted)
  const { dataBytes, itemBytes } = await measureWritten(copyFolder, span, counted)
  return dataBytes + Math.round(itemBytes * bytesPerItemByte)
}

/** Blocks of a file tree are about three quarters full. */
const bytesPerItemByte = 4 / 3

/** At most the whole tree, at least its growth. */
function estimateBlocks(itemBytes: number, treeBytes: number, baseBytes = treeBytes): number {
  const estimate = Math.round(itemBytes * bytesPerItemByte)
  return Math.min(treeBytes, Math.max(estimate, treeBytes - baseBytes))
}
