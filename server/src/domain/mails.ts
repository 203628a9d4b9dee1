import type { Tx } from '../db/database.ts'
import { newUlid } from '../ids.ts'

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
