import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { conflict } from '../../errors.ts'

/*
 * An invitation lets one new host join: its secret is given once to the worker of a host, which hands out what the new
 * one needs, the address of the database and the keyring.
 */

export const invitationMinutes = 60

/** Invites a host under a name that no host has had. The secret is not stored. */
export async function inviteHost(db: Database, host: string): Promise<string> {
  const known = await db
    .selectFrom('hosts')
    .select('name')
    .where('name', '=', host)
    .executeTakeFirst()
  if (known) throw conflict(`a host is or was called ${host}; choose another name`)
  const secret = randomBytes(32).toString('base64url')
  await db
    .insertInto('host_invitations')
    .values({
      secret_hash: digest(secret),
      host,
      expires_at: sql<Date>`now() + make_interval(mins => ${sql.lit(invitationMinutes)})`,
    })
    .execute()
  return secret
}

/** The name of the host that was invited with the secret, once; null if it is unknown, spent or expired. */
export async function spendInvitation(db: Database, secret: string): Promise<string | null> {
  const spent = await db
    .updateTable('host_invitations')
    .set({ used_at: sql<Date>`now()` })
    .where('secret_hash', '=', digest(secret))
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('host')
    .executeTakeFirst()
  return spent?.host ?? null
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
