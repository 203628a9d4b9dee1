import type { HelpRequestId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, HelpRow } from '../../db/database.ts'
import { noteHelp } from './notices.ts'
import { endHolding, endRequest, pushEnd } from './holding.ts'
import { isWaiting, publishHelp } from './requests.ts'

/* What happens to help requests by themselves. Each pass is repeated by the worker, so a crash in one loses nothing. */

type HelpApp = Pick<App, 'db' | 'guests' | 'changes' | 'log'>
type Waiting = Pick<HelpRow, 'id'> & { readonly fate: Fate }
type Fate = 'deleted' | 'expired' | 'gone'

const batch = 100
const keptFor = sql`interval '30 days'`

/**
 * Ends requests that have expired or whose machine was deleted, and opens those again whose person is gone: their session
 * does not hold the lease any more.
 */
export async function tendHelp(app: HelpApp): Promise<void> {
  const due = await findDue(app.db, null)
  // Concurrently, because an agent may be silent on purpose.
  await Promise.all(due.map((waiting) => tend(app, waiting)))
}

/** All, or that one alone. */
async function findDue(db: Database, id: HelpRequestId | null): Promise<readonly Waiting[]> {
  const { rows } = await sql<Waiting>`
    select id, fate from (
      select h.id, case
        when m.deleted_at is not null then 'deleted'
        when h.expires_at <= clock_timestamp() then 'expired'
        when h.state = 'active' and not exists (
          select from input_leases l
          where l.machine_id = h.machine_id and l.session_id = h.session_id
            and l.expires_at > clock_timestamp()
        ) then 'gone'
      end as fate
      from help_requests h join machines m on m.id = h.machine_id
      where h.state in ('open', 'active') and (h.id = ${id}::text or ${id}::text is null)
    ) as waiting
    where fate is not null
    limit ${batch}`.execute(db)
  return rows
}

/** Does nothing if the request has changed since it was found. */
async function tend(app: HelpApp, { id }: Waiting): Promise<void> {
  const changed = await app.db.transaction().execute(async (tx) => {
    const help = await tx
      .selectFrom('help_requests')
      .selectAll()
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst()
    if (!help || !isWaiting(help)) return null
    // Read again: what was due before the row was locked may not be any more.
    const [due] = await findDue(tx, id)
    const system = { type: 'system', id: 'system', name: 'Computer' } as const
    switch (due?.fate) {
      case 'deleted':
        await noteHelp(tx, help, 'help.cancelled', system)
        await endRequest(tx, help, { state: 'cancelled', message: 'the machine was deleted' })
        return help
      case 'expired':
        await noteHelp(tx, help, 'help.expired', system)
        await endRequest(tx, help, { state: 'expired', message: 'the help request expired' })
        return help
      case 'gone':
        await noteHelp(tx, help, 'help.released', system)
        await endHolding(tx, help, 'who had taken the help request is gone')
        return help
      default:
        return null
    }
  })
  if (!changed) return
  publishHelp(app, changed)
  await pushEnd(app, changed)
}

/** Deletes requests, with their answers and pictures, 30 days after their end. */
export async function sweepHelp(db: Database): Promise<void> {
  await db
    .deleteFrom('help_requests')
    .where('ended_at', '<', sql<Date>`clock_timestamp() - ${keptFor}`)
    .execute()
}
