import type { ApiKeyId, AuthSessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { createToken, hashToken, isToken } from './tokens.ts'

const lifetime = sql`interval '60 seconds'`

/** A token with which its creator can open one connection to the gateway, within a minute. */
export async function createGatewayToken(db: Database, actor: Actor) {
  const token = createToken('gateway')
  const { principal, authSessionId } = actor
  const { expires_at } = await db
    .insertInto('gateway_tokens')
    .values({
      token_hash: hashToken(token),
      api_key_id: principal.type === 'api_key' ? principal.id : null,
      auth_session_id: authSessionId,
      expires_at: sql`now() + ${lifetime}`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { token, expires_at }
}

/** Uses the token up and returns the credential that created it. Throws `unauthenticated`. */
export async function redeemGatewayToken(
  db: Database,
  token: string,
): Promise<{ readonly apiKeyId: ApiKeyId } | { readonly authSessionId: AuthSessionId }> {
  const found = isToken('gateway', token)
    ? await db
        .deleteFrom('gateway_tokens')
        .where('token_hash', '=', hashToken(token))
        .where('expires_at', '>', sql<Date>`now()`)
        .returning(['api_key_id', 'auth_session_id'])
        .executeTakeFirst()
    : undefined
  if (found?.api_key_id) return { apiKeyId: found.api_key_id }
  if (found?.auth_session_id) return { authSessionId: found.auth_session_id }
  throw new ApiError(
    'unauthenticated',
    'this gateway token was already used or has expired; create a new one',
  )
}

export async function forgetGatewayTokens(db: Database): Promise<void> {
  await db
    .deleteFrom('gateway_tokens')
    .where('expires_at', '<=', sql<Date>`now()`)
    .execute()
}
