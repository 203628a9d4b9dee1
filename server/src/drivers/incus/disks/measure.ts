import { ExtentSet, measureWritten, readSubvolumes, type Subvolume } from './btrfs.ts'
import { captureIdOf, refOf } from '../instance.ts'
import { diskFolder, instanceOf, type HostPool } from './host-pool.ts'

/** What is in a pool, as its file system alone tells it. */
export type PoolDisks = {
  readonly machines: readonly MachineDisk[]
  /** By the names of their instances. */
  readonly captures: ReadonlyMap<string, Subvolume>
  /** By their fingerprints. */
  readonly images: ReadonlyMap<string, Subvolume>
}

export type MachineDisk = Subvolume & {
  readonly instance: string
  /** The captures of it, as one text to compare. */
  readonly captures: string
  /** Some of them are being removed, and the room they took is not all free yet. */
  readonly isThinning: boolean
  /** It is no copy of an image. */
  readonly inherits: boolean
}

/** `removing` are captures that will be gone in a moment. */
export async function readDisks(
  pool: HostPool,
  removing: ReadonlySet<string> = new Set(),
): Promise<PoolDisks> {
  const subvolumes = await readSubvolumes(pool.folder)
  const captures = new Map<string, Subvolume>()
  const images = new Map<string, Subvolume>()
  const copies = Map.groupBy(subvolumes, ({ parentUuid }) => parentUuid)
  for (const one of subvolumes) {
    const name = one.name ?? ''
    const instance = instanceOf(pool.project, name)
    if (/^[0-9a-f]{64}$/.test(name)) images.set(name, one)
    if (instance !== undefined && captureIdOf(instance)) captures.set(instance, one)
  }
  const isGoing = ({ name }: Subvolume) =>
    name === undefined || removing.has(instanceOf(pool.project, name) ?? '')
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
        isThinning: own.some(isGoing),
        inherits: !imageUuids.has(one.parentUuid),
      },
    ]
  })
  return { machines, captures, images }
}

/** What a machine itself had written when it was captured, and still had on its disk. */
export async function measureOwn(
  pool: HostPool,
  machine: MachineDisk,
  capture: string,
): Promise<number> {
  // The engine has written notes of its own to the copy.
  const span = { since: machine.madeIn, asMade: true }
  const { dataBytes, itemBytes } = await measureWritten(diskFolder(pool, capture), span)
  return dataBytes + Math.round(itemBytes * blockShare)
}

/** What a disk holds beyond its image. Without an image, since it was made. */
export async function measureHeld(
  pool: HostPool,
  instance: string,
  disk: Subvolume,
  image: Subvolume | undefined,
): Promise<number> {
  // One that was unpacked anew since has nothing in common with the disk any more.
  const base = image && image.madeIn < disk.madeIn ? image : undefined
  const since = Math.min(disk.madeIn, base ? base.changedIn + 1 : Infinity)
  const { dataBytes, itemBytes } = await measureWritten(diskFolder(pool, instance), { since })
  return dataBytes + estimateBlocks(itemBytes, disk.treeBytes, base?.treeBytes)
}

/** At most what a machine is charged with no more when a capture of it is removed. */
export async function measureFreed(
  pool: HostPool,
  machine: MachineDisk,
  capture: string,
): Promise<number> {
  const span = { since: machine.madeIn }
  const counted = new ExtentSet()
  await measureWritten(diskFolder(pool, machine.instance), span, counted)
  const { dataBytes, itemBytes } = await measureWritten(diskFolder(pool, capture), span, counted)
  return dataBytes + Math.round(itemBytes * blockShare)
}

/** Blocks of a tree of files are about three quarters full. */
const blockShare = 4 / 3

/** No more than the whole tree, and no less than it has grown by. */
function estimateBlocks(itemBytes: number, treeBytes: number, baseBytes = treeBytes): number {
  const estimate = Math.round(itemBytes * blockShare)
  return Math.min(treeBytes, Math.max(estimate, treeBytes - baseBytes))
}
