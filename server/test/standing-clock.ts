import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../src/db/database.ts'
import { changeStanding, type StandingChange } from '../src/domain/accounts/standing.ts'

/* Time of an account's state. The clock of the database cannot be set, so tests move the rows. */

const accountTimes = [
  'past_due_since',
  'trial_ends_at',
  'plan_ends_at',
  'machines_stop_at',
  'standing_due_at',
  'closed_through',
]

/** Lets hours pass for the account and the periods of an organization. */
export async function passHours(
  db: Database,
  organizationId: OrganizationId,
  hours: number,
): Promise<void> {
  const past = sql`make_interval(mins => ${Math.round(hours * 60)}::int)`
  const wholeHours = sql`make_interval(hours => ${Math.floor(hours)}::int)`
  const move = (columns: readonly string[], by: typeof past) =>
    sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(column)} - ${by}`))
  await db.transaction().execute(async (tx) => {
    await sql`update billing_accounts set ${move(accountTimes, past)}
      where organization_id = ${organizationId}`.execute(tx)
    await sql`update billing_notices set occasion = occasion - ${past}
      where organization_id = ${organizationId}`.execute(tx)
    await sql`update organization_terms set effective_at = effective_at - ${wholeHours}
      where organization_id = ${organizationId}`.execute(tx)
    // Boundaries are whole hours.
    await sql`update billing_periods set ${move(['starts_at', 'ends_at'], wholeHours)}
      where organization_id = ${organizationId}`.execute(tx)
  })
}

export const passDays = (db: Database, organizationId: OrganizationId, days: number) =>
  passHours(db, organizationId, days * 24)

export function setStanding(db: Database, id: OrganizationId, change: StandingChange) {
  return db.transaction().execute((tx) => changeStanding(tx, id, change))
}

export async function accountOf(db: Database, organizationId: OrganizationId) {
  return db
    .selectFrom('billing_accounts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
}

/** The kinds of the notices that were given, the oldest first. */
export async function noticesOf(db: Database, organizationId: OrganizationId): Promise<string[]> {
  const notices = await db
    .selectFrom('billing_notices')
    .select('kind')
    .where('organization_id', '=', organizationId)
    .orderBy('given_at')
    .orderBy('kind')
    .execute()
  return notices.map(({ kind }) => kind)
}
