import type { ApiKeyId, ApiKeyScope } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { ApiKeyRow, Database, Tx } from '../../db/database.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import { createSecret, secretPrefix } from './api-key-secret.ts'
import { hashToken } from './tokens.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { newestFirst, type PageRequest } from '../page.ts'

type ApiKeyInput = {
  readonly name: string
  readonly scopes: readonly ApiKeyScope[]
  readonly expires_at?: string | undefined
}
type NewApiKey = ApiKeyRow & { readonly secret: string }

/**
 * Called again with the id of an interrupted call, it gives that key a new secret: nobody has received
 * the first.
 */
export async function createApiKey(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: ApiKeyId,
  input: ApiKeyInput,
): Promise<NewApiKey> {
  return app.db.transaction().execute(async (tx) => {
    const repeated = await renewSecret(tx, actor, id)
    if (repeated) return repeated
    const key = await insertApiKey(tx, actor, id, input)
    await noteAudit(tx, { ...auditedBy(actor), type: 'api_key.created', target: targetOf(key) })
    return key
  })
}

/** Stores the hash of the secret. Does not write to the audit log: the caller does. */
export async function insertApiKey(
  db: Database,
  owner: Pick<Actor, 'organizationId' | 'userId'>,
  id: ApiKeyId,
  input: ApiKeyInput,
): Promise<NewApiKey> {
  const expiresAt = input.expires_at ? new Date(input.expires_at) : null
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
      organization_id: owner.organizationId,
      name: input.name,
      prefix: secretPrefix(secret),
      secret_hash: hashToken(secret),
      scopes: [...new Set(input.scopes)],
      created_by: owner.userId,
      expires_at: expiresAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { ...row, secret }
}

export async function listApiKeys(db: Database, actor: Actor, page: PageRequest) {
  const rows = db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
  return newestFirst('key', page, rows)
}

/** Revoking again keeps the first `revoked_at`. */
export async function revokeApiKey(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: ApiKeyId,
): Promise<ApiKeyRow> {
  return app.db.transaction().execute(async (tx) => {
    const key = await tx
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .where('organization_id', '=', actor.organizationId)
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (!key) throw notFound(`API key ${id}`)
    if (key.revoked_at) return key
    await noteAudit(tx, { ...auditedBy(actor), type: 'api_key.revoked', target: targetOf(key) })
    return tx
      .updateTable('api_keys')
      .set({ revoked_at: sql`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

/** The key with its creator's current role. Throws `unauthenticated` if it cannot be used. */
export function findByKey(db: Database, secret: string) {
  return findUsable(db, sql`k.secret_hash = ${hashToken(secret)}`)
}

/** The same by id, for example for the key that a gateway token was created with. */
export function findKey(db: Database, id: ApiKeyId) {
  return findUsable(db, sql`k.id = ${id}`)
}

async function findUsable(db: Database, which: RawBuilder<boolean>) {
  const found = await db
    .selectFrom('api_keys as k')
    .innerJoin('memberships as m', (join) =>
      join
        .onRef('m.user_id', '=', 'k.created_by')
        .onRef('m.organization_id', '=', 'k.organization_id'),
    )
    .innerJoin('users as u', 'u.id', 'k.created_by')
    .select(['k.id', 'k.name', 'k.organization_id', 'k.scopes', 'k.created_by', 'm.role'])
    .select(
      sql<boolean>`k.last_used_at is null or k.last_used_at < now() - interval '1 minute'`.as(
        'should_record_use',
      ),
    )
    .where(which)
    .where('k.revoked_at', 'is', null)
    .where('u.disabled_at', 'is', null)
    .where((eb) =>
      eb.or([eb('k.expires_at', 'is', null), eb('k.expires_at', '>', sql<Date>`now()`)]),
    )
    .executeTakeFirst()
  if (!found) {
    throw new ApiError('unauthenticated', 'the API key is unknown, expired or revoked')
  }
  return found
}

/** Call it only if `should_record_use`, which is at most once a minute. */
export async function noteUse(db: Database, id: ApiKeyId): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ last_used_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** Gives an existing key a new secret; undefined if there is no such key. */
async function renewSecret(tx: Tx, actor: Actor, id: ApiKeyId): Promise<NewApiKey | undefined> {
  const secret = createSecret()
  const row = await tx
    .updateTable('api_keys')
    .set({ prefix: secretPrefix(secret), secret_hash: hashToken(secret) })
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .returningAll()
    .executeTakeFirst()
  return row && { ...row, secret }
}

function targetOf(key: ApiKeyRow) {
  return { type: 'api_key', id: key.id, name: key.name }
}
