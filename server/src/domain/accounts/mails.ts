import { sql } from 'kysely'
import type { Database, MailRow, Tx } from '../../db/database.ts'
import { newUlid } from '../../ids.ts'
import { anyLocked, inMs } from '../claims.ts'

/** A claim outlasts the time that the worker gives one mail. */
const claimedFor = sql`interval '3 minutes'`
const keptFor = sql`interval '3 days'`

/**
 * Has a plain text mail sent once the transaction commits; the worker hands it over. The subject may
 * quote what callers chose: it becomes one line.
 */
export async function sendMail(
  tx: Tx,
  mail: { readonly recipient: string; readonly subject: string; readonly body: string },
): Promise<void> {
  await tx
    .insertInto('mails')
    .values({ ...mail, id: newUlid(), subject: oneLine(mail.subject) })
    .execute()
}

/** Text without line breaks, control and bidirectional marks, so that a name cannot pass for more. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

/** The mail that is due the longest, kept from other workers for a while. */
export async function claimMail(db: Database): Promise<MailRow | undefined> {
  const due = db
    .selectFrom('mails')
    .select('id')
    .where('next_attempt_at', '<=', sql<Date>`now()`)
    .orderBy('next_attempt_at')
  return db
    .updateTable('mails')
    .set({ attempts: sql`attempts + 1`, next_attempt_at: sql`now() + ${claimedFor}` })
    .where('id', '=', anyLocked(due, 'mails', 1))
    .returningAll()
    .executeTakeFirst()
}

/** It was handed over, or never can be: what it said goes with the row. */
export async function forgetMail(db: Database, { id }: MailRow): Promise<void> {
  await db.deleteFrom('mails').where('id', '=', id).execute()
}

/** Schedules another try of a mail; false if the mail is too old, and was deleted. */
export async function postponeMail(
  db: Database,
  mail: MailRow,
  { reason, delayMs }: { readonly reason: string; readonly delayMs: number },
): Promise<boolean> {
  const postponed = await db
    .updateTable('mails')
    .set({
      last_error: reason,
      next_attempt_at: inMs(delayMs),
    })
    .where('id', '=', mail.id)
    .where('created_at', '>', sql<Date>`now() - ${keptFor}`)
    .returning('id')
    .executeTakeFirst()
  if (postponed) return true
  await forgetMail(db, mail)
  return false
}
