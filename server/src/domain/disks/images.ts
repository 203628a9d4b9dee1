import type { ImageId } from '@computer/contract'
import type { Database } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newestFirst, type PageRequest } from '../page.ts'

export type BuiltImage = {
  readonly recipeHash: string
  readonly name: string
  readonly description: string
  readonly metadataPath: string
  readonly rootfsPath: string
}

/** Makes a built image the default. The same recipe keeps its id; older images stay for their machines. */
export async function registerImage(db: Database, image: BuiltImage): Promise<ImageId> {
  return db.transaction().execute(async (tx) => {
    await tx
      .updateTable('images')
      .set({ is_default: false })
      .where('is_default', '=', true)
      .execute()
    const { id } = await tx
      .insertInto('images')
      .values({
        id: newId('img'),
        recipe_hash: image.recipeHash,
        name: image.name,
        os: 'linux',
        description: image.description,
        is_default: true,
        metadata_path: image.metadataPath,
        rootfs_path: image.rootfsPath,
      })
      .onConflict((conflict) =>
        conflict.column('recipe_hash').doUpdateSet({
          is_default: true,
          metadata_path: image.metadataPath,
          rootfs_path: image.rootfsPath,
        }),
      )
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  })
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
