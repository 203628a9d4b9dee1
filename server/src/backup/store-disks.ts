import type { CaptureId, ImageId } from '@computer/contract'
import { keyOf, type DiskKeeper, type KeptDisk } from '../drivers/disk-keeper.ts'
import { ImageMissing } from '../drivers/machine-driver.ts'
import type { BackupOptions, BackupParts, Store } from './back-up.ts'
import { machineDisk, type Caught } from './catch-disks.ts'
import type { Backup, BackupIndex, Link } from './index-file.ts'
import { newestLinks } from './retention.ts'

type Parts = Pick<BackupParts, 'readImage' | 'keeper' | 'wait'> & { readonly store: Store }

/** Stores the disks that were caught, and the images that they derive from, unless the folder has them. */
export async function storeDisks(
  { readImage, keeper, store, wait }: Parts,
  index: BackupIndex,
  { rows, kept }: Caught,
  { isFull }: Pick<BackupOptions, 'isFull'>,
): Promise<{
  readonly index: BackupIndex
  readonly contents: Pick<Backup, 'images' | 'captures' | 'machines'>
}> {
  const next = {
    ...index,
    images: [...index.images],
    captures: [...index.captures],
    links: [...index.links],
  }
  const contents: Pick<Backup, 'images' | 'captures' | 'machines'> = {
    images: [],
    captures: [],
    machines: [],
  }
  for (const id of rows.images) {
    wait('copying machine images')
    const isStored = next.images.some((image) => image.id === id)
    const image = isStored ? undefined : await storeImage(id)
    if (image) next.images.push(image)
    if (image || isStored) contents.images.push(id)
  }
  for (const [count, { id, image_id: imageId }] of rows.captures.entries()) {
    wait(`copying snapshots and templates: ${count} of ${rows.captures.length}`)
    const one = kept.get(keyOf({ kind: 'capture', id }))
    const isStored = next.captures.some((capture) => capture.id === id)
    if (!isStored && one) {
      const stream = await keeper.send(one, { imageId, base: null })
      next.captures.push({
        id,
        image_id: imageId,
        file: await store(`captures/${id}.zst`, stream),
      })
    }
    if (isStored || one) contents.captures.push(id)
  }
  const bases = isFull ? new Map<string, Link>() : await listBases(keeper, index)
  for (const [count, row] of rows.machines.entries()) {
    wait(`copying machines: ${count} of ${rows.machines.length}`)
    const one = kept.get(keyOf(machineDisk(row)))
    if (!one) continue
    next.links.push(await storeLink(one, row, bases.get(keyOf(one.disk))?.id ?? null))
    contents.machines.push({ id: row.id, generation: row.generation, link: one.id })
  }
  return { index: next, contents }

  /** Undefined for an image that no host has: no disk derives from it. */
  async function storeImage(id: ImageId): Promise<BackupIndex['images'][number] | undefined> {
    try {
      const read = async (file: 'metadata' | 'rootfs') =>
        store(`images/${id}/${file}.zst`, await readImage(id, file))
      return { id, metadata: await read('metadata'), rootfs: await read('rootfs') }
    } catch (error) {
      if (error instanceof ImageMissing) return undefined
      throw error
    }
  }

  async function storeLink(
    one: KeptDisk,
    { id, generation, image_id: imageId }: Caught['rows']['machines'][number],
    base: CaptureId | null,
  ): Promise<Link> {
    const stream = await keeper.send(one, { imageId, base })
    const file = await store(`machines/${id}/${one.id}.zst`, stream)
    return { id: one.id, machine_id: id, generation, image_id: imageId, base, file }
  }
}

/** The newest link of each disk, if the pool still has the disk as it was then. */
async function listBases(
  keeper: DiskKeeper,
  index: BackupIndex,
): Promise<ReadonlyMap<string, Link>> {
  const kept = new Set((await keeper.listKept()).map(({ id }) => id))
  return new Map([...newestLinks(index)].filter(([, link]) => kept.has(link.id)))
}
