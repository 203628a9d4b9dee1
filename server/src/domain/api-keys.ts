import type { ApiKeyId, ApiKeyScope } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../actor.ts'
import type { ApiKeyRow, Database } from '../db/database.ts'
import { ApiError, invalid, notFound } from '../errors.ts'
import { createSecret, hashSecret, secretPrefix } from './api-key-secret.ts'
import { pageById, type PageRequest } from './page.ts'

/**
 * Makes a key and its secret, which is stored hashed. Called again with the id of an earlier call
 * that was cut off, it gives that key a new secret: nobody has seen the first.
 */
export async function createApiKey(
  db: Database,
  actor: Pick<Actor, 'organizationId' | 'userId'>,
  id: ApiKeyId,
  wish: {
    readonly name: string
    readonly scopes: readonly ApiKeyScope[]
    readonly expires_at?: string | undefined
  },
): Promise<ApiKeyRow & { readonly secret: string }> {
  const expiresAt = wish.expires_at ? new Date(wish.expires_at) : null
  if (expiresAt && expiresAt <= new Date()) {
    throw invalid('expires_at is in the past', [
      { field: 'expires_at', message: 'must be in the future' },
    ])
  }
  const secret = createSecret()
  const row = await db
    .insertInto('api_keys')
    .values({
      id,
      organization_id: actor.organizationId,
      name: wish.name,
      prefix: secretPrefix(secret),
      secret_hash: hashSecret(secret),
      scopes: [...new Set(wish.scopes)],
      created_by: actor.userId,
      expires_at: expiresAt,
    } as never)
    .onConflict((existing) =>
      existing
        .column('id')
        .doUpdateSet({ prefix: secretPrefix(secret), secret_hash: hashSecret(secret) })
        .where('api_keys.organization_id', '=', actor.organizationId),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
  return { ...row, secret }
}

export async function listApiKeys(db: Database, actor: Actor, page: PageRequest) {
  return pageById(page, (before, count) =>
    db
      .selectFrom('api_keys')
      .selectAll()
      .where('organization_id', '=', actor.organizationId)
      .$if(before !== null, (query) => query.where('id', '<', before as ApiKeyId))
      .orderBy('id', 'desc')
      .limit(count)
      .execute(),
  )
}

/** Refused everywhere from now on. Repeating it keeps the first time. */
export async function revokeApiKey(db: Database, actor: Actor, id: ApiKeyId): Promise<ApiKeyRow> {
  const key = await db
    .updateTable('api_keys')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .returningAll()
    .executeTakeFirst()
  if (!key) throw notFound(`API key ${id}`)
  return key
}

/** The key, its creator and the creator's present role, or `unauthenticated`. */
export async function findByKey(db: Database, secret: string) {
  const found = await db
    .selectFrom('api_keys as k')
    .innerJoin('memberships as m', (join) =>
      join
        .onRef('m.user_id', '=', 'k.created_by')
        .onRef('m.organization_id', '=', 'k.organization_id'),
    )
    .select(['k.id', 'k.name', 'k.organization_id', 'k.scopes', 'k.created_by', 'm.role'])
    .select(
      sql<boolean>`k.last_used_at is null or k.last_used_at < now() - interval '1 minute'`.as(
        'use_is_news',
      ),
    )
    .where('k.secret_hash', '=', hashSecret(secret))
    .where('k.revoked_at', 'is', null)
    .where((eb) =>
      eb.or([eb('k.expires_at', 'is', null), eb('k.expires_at', '>', sql<Date>`now()`)]),
    )
    .executeTakeFirst()
  if (!found) {
    throw new ApiError('unauthenticated', 'the API key is unknown, expired or revoked')
  }
  return found
}

/** Notes the use of a key, at most once a minute. */
export async function noteUse(db: Database, id: ApiKeyId): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ last_used_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}
