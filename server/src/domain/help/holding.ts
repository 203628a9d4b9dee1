import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { HelpRow, Tx } from '../../db/database.ts'
import { pushReleasedFence } from '../control/leases.ts'
import { endSession } from '../control/session-closing.ts'
import { deleteAccess } from './links.ts'

/* The end of the time in which a person has the machine of a help request. */

/** Closes the session of who has it, which gives the lease back. The request is open again unless it ends. */
export async function endHolding(tx: Tx, help: HelpRow, message: string): Promise<void> {
  if (help.session_id === null) return
  await endSession(tx, { id: help.session_id, machineId: help.machine_id }, message)
  await tx
    .updateTable('help_requests')
    .set({ state: 'open', session_id: null })
    .where('id', '=', help.id)
    .execute()
}

/** Ends a request for ever, with its links and guests, and returns its row. */
export async function endRequest(
  tx: Tx,
  help: HelpRow,
  end: { readonly state: 'done' | 'declined' | 'cancelled' | 'expired'; readonly message: string },
): Promise<HelpRow> {
  await endHolding(tx, help, end.message)
  await deleteAccess(tx, help.id)
  return tx
    .updateTable('help_requests')
    .set({ state: end.state, session_id: null, ended_at: sql`clock_timestamp()` })
    .where('id', '=', help.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Tells the agent after the commit, if a person had the machine. Pass the row from before. */
export async function pushEnd(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  before: HelpRow,
): Promise<void> {
  if (before.session_id !== null) await pushReleasedFence(app, before.machine_id)
}
