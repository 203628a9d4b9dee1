import type { UserId } from '@computer/contract'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { HelpRow, Tx } from '../../db/database.ts'
import { sendMail } from '../accounts/mails.ts'
import { activityRow, insertActivity, type NewActivity } from '../activity/activity.ts'

/* Notices about help requests: in the activity log, to receivers of webhooks, and by mail to one person. */

type HelpActivity =
  | 'help.requested'
  | 'help.taken'
  | 'help.released'
  | 'help.answered'
  | 'help.cancelled'
  | 'help.expired'
  | 'help.link_created'
  | 'help.link_opened'

/** More requests of an organization in an hour are told by no mail. */
export const mailsPerHour = 20

/**
 * Writes to the activity log of the machine. What a person answers is not in it, since it may be a code that nobody
 * else is to see.
 */
export async function noteHelp(
  tx: Tx,
  help: HelpRow,
  type: HelpActivity,
  actor: NewActivity['actor'],
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const row = activityRow({
    organizationId: help.organization_id,
    machineId: help.machine_id,
    type,
    actor,
    sessionId: help.session_id,
    data: {
      help_request_id: help.id,
      reason: help.reason,
      ...(type === 'help.requested' && { message: help.message, private: help.private }),
      ...details,
    },
  })
  await insertActivity(tx, [row])
}

/** Mails a person who can sign in. A server without a mail server sends none. */
export async function mailRequest(
  tx: Tx,
  { smtpUrl, dashboardUrl }: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  help: HelpRow,
  machineName: string,
  userId: UserId,
): Promise<void> {
  if (smtpUrl === null) return
  const person = await tx
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .where('disabled_at', 'is', null)
    .where('password_hash', 'is not', null)
    .executeTakeFirst()
  if (!person || (await countMails(tx, help)) >= mailsPerHour) return
  await tx.updateTable('help_requests').set({ is_mailed: true }).where('id', '=', help.id).execute()
  await sendMail(tx, {
    recipient: person.email,
    subject: `${help.requested_by_name} asks for help on ${machineName}`,
    body: `${help.requested_by_name} asks for help on the machine ${machineName} (${help.reason}):

${help.message.replace(/^/gm, '> ')}

Take over or answer: ${new URL('/help-requests', dashboardUrl).href}
The request expires at ${help.expires_at.toISOString()}.
`,
  })
}

async function countMails(tx: Tx, { organization_id: organizationId }: HelpRow): Promise<number> {
  const { count } = await tx
    .selectFrom('help_requests')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('is_mailed', '=', true)
    .where('created_at', '>', sql<Date>`clock_timestamp() - interval '1 hour'`)
    .executeTakeFirstOrThrow()
  return Number(count)
}
