import { sql } from 'kysely'
import type { Database, MailRow, Tx } from '../../db/database.ts'
import { newUlid } from '../../ids.ts'
import { anyLocked, inMs } from '../claims.ts'

/** Longer than the worker's time limit for sending one mail. */
const claimedFor = sql`interval '3 minutes'`
const keptFor = sql`interval '3 days'`

/**
 * Queues a plain text mail, which the worker sends after the transaction commits. The subject may contain
 * names that users chose, so it is reduced to one line.
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

/** Removes line breaks, control and bidirectional characters, so that a name cannot inject text. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

/** Claims the mail that has been due longest; other workers skip it until the claim expires. */
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

/** Delivered, or permanently undeliverable: deletes the row and its contents. */
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
