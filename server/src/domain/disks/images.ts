import type { ImageId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newestFirst, type PageRequest } from '../page.ts'

export type BuiltImage = {
  readonly recipeHash: string
  readonly name: string
  readonly description: string
  readonly metadataPath: string
  readonly rootfsPath: string
  readonly fingerprint: string
}

/**
 * Makes a built image the default. The same recipe keeps its id; older images stay for their machines. Two builds of a
 * recipe differ, and disks are sent between hosts as what differs from the image, so all hosts use the files of the
 * first one. They are replaced only if no other host has them.
 */
export async function registerImage(
  db: Database,
  host: string,
  image: BuiltImage,
): Promise<ImageId> {
  return db.transaction().execute(async (tx) => {
    await tx
      .updateTable('images')
      .set({ is_default: false })
      .where('is_default', '=', true)
      .execute()
    const files = {
      metadata_path: image.metadataPath,
      rootfs_path: image.rootfsPath,
      fingerprint: image.fingerprint,
    }
    const { id, fingerprint } = await tx
      .insertInto('images')
      .values({
        id: newId('img'),
        recipe_hash: image.recipeHash,
        name: image.name,
        os: 'linux',
        description: image.description,
        is_default: true,
        ...files,
      })
      .onConflict((known) => known.column('recipe_hash').doUpdateSet({ is_default: true }))
      .returning(['id', 'fingerprint'])
      .executeTakeFirstOrThrow()
    if (fingerprint === null || !(await hasAnyOther(tx, host, id)))
      await tx.updateTable('images').set(files).where('id', '=', id).execute()
    return id
  })
}

async function hasAnyOther(tx: Tx, host: string, image: ImageId): Promise<boolean> {
  const other = await tx
    .selectFrom('hosts')
    .select('name')
    .where('name', '!=', host)
    .where('state', '!=', 'lost')
    .where(sql<boolean>`${image} = any(images)`)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

/** The digest of the files at these paths, if they were registered with it. */
export async function findFingerprint(
  db: Database,
  { recipeHash, rootfsPath }: Pick<BuiltImage, 'recipeHash' | 'rootfsPath'>,
): Promise<string | null> {
  const image = await db
    .selectFrom('images')
    .select('fingerprint')
    .where('recipe_hash', '=', recipeHash)
    .where('rootfs_path', '=', rootfsPath)
    .executeTakeFirst()
  return image?.fingerprint ?? null
}

/** Whether any image was ever registered on this server. */
export async function hasImages(db: Database): Promise<boolean> {
  return (await db.selectFrom('images').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Images belong to the server, not to an organization: every member may read them. */
export async function listImages(db: Database, page: PageRequest) {
  const rows = db.selectFrom('images').selectAll()
  return newestFirst('img', page, rows)
}

/** The named image, or the server's default. */
export async function resolveImage(db: Database, id: ImageId | undefined) {
  const image = await db
    .selectFrom('images')
    .select('id')
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .$if(id === undefined, (query) => query.where('is_default', '=', true))
    .executeTakeFirst()
  if (image) return image
  if (id) throw notFound(`image ${id}`)
  throw new ApiError('compute_unavailable', 'this server has no machine image yet', {
    retryAfter: 5,
  })
}

/** The image of new machines, with its files; undefined on a server that has none yet. */
export async function getDefaultImage(db: Database) {
  return db.selectFrom('images').selectAll().where('is_default', '=', true).executeTakeFirst()
}

/** An image with its files, also one that is no longer the default. */
export async function getImage(db: Database, id: ImageId) {
  return db.selectFrom('images').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}
