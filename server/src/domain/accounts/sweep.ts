import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** Deletes expired rate limit windows, reset and sign-in links, and browser sessions that ended a month ago. */
export async function sweepAccounts(db: Database): Promise<void> {
  await db
    .deleteFrom('attempts')
    .where('window_ends_at', '<', sql<Date>`now()`)
    .execute()
  for (const links of ['password_resets', 'login_links'] as const) {
    await db
      .deleteFrom(links)
      .where('expires_at', '<', sql<Date>`now()`)
      .execute()
  }
  const monthAgo = sql<Date>`now() - interval '30 days'`
  await db
    .deleteFrom('auth_sessions')
    .where((eb) => eb.or([eb('revoked_at', '<', monthAgo), eb('expires_at', '<', monthAgo)]))
    .execute()
}
