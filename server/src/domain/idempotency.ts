import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { ApiError, conflict } from '../errors.ts'
import { newUlid } from '../ids.ts'

/** Rows of idempotency keys; api/idempotency.ts explains their use. */

const keptFor = sql`interval '24 hours'`
const aliveFor = sql`interval '20 seconds'`

export type Claim = { readonly seed: string; readonly sealed: Buffer | null }

/**
 * Claims the key for the caller, with the seed of any earlier attempt; or returns the sealed response of
 * a call that finished. Throws a conflict while another call runs, or if the body differs.
 */
export async function claimKey(db: Database, id: Buffer, bodyHash: Buffer): Promise<Claim> {
  await db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - ${keptFor}`)
    .where('id', '=', id)
    .execute()
  const running = sql<Date>`clock_timestamp() + ${aliveFor}`
  const seed = newUlid()
  const mine = await db
    .insertInto('idempotency_keys')
    .values({ id, body_hash: bodyHash, seed, running_until: running } as never)
    .onConflict((existing) =>
      existing
        .column('id')
        .doUpdateSet({ running_until: running })
        .where('idempotency_keys.status', 'is', null)
        .where('idempotency_keys.running_until', '<', sql<Date>`clock_timestamp()`)
        .where('idempotency_keys.body_hash', '=', bodyHash),
    )
    .returning('seed')
    .executeTakeFirst()
  if (mine) return { seed: mine.seed, sealed: null }

  const other = await db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (other && !other.body_hash.equals(bodyHash)) {
    throw conflict('this idempotency-key was used with a different body; use a new one')
  }
  if (other?.sealed_response) return { seed: other.seed, sealed: other.sealed_response }
  throw new ApiError('conflict', 'the first call with this idempotency-key is still running', {
    retryAfter: 1,
  })
}

/** Renews a claim, which otherwise expires after 20 seconds. */
export async function extendClaim(db: Database, id: Buffer): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ running_until: sql`clock_timestamp() + ${aliveFor}` })
    .where('id', '=', id)
    .execute()
}

/** Lets the next call claim the key at once; the seed stays. */
export async function releaseClaim(db: Database, id: Buffer): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ running_until: sql`clock_timestamp()` })
    .where('id', '=', id)
    .execute()
}

export async function forgetKey(db: Database, id: Buffer): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('id', '=', id).execute()
}

export async function storeAnswer(
  db: Database,
  id: Buffer,
  status: number,
  sealed: Buffer,
): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ status, sealed_response: sealed })
    .where('id', '=', id)
    .execute()
}

/** Deletes keys whose stored response is no longer repeated. */
export async function forgetOldKeys(db: Database): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - ${keptFor}`)
    .execute()
}
