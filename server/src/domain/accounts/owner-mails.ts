import type { OrganizationId } from '@computer/contract'
import type { Config } from '../../config.ts'
import type { Tx } from '../../db/database.ts'
import { oneLine, sendMail } from './mails.ts'

/**
 * Mails the owners of an organization who can sign in: the owner that the first start made has no address.
 * The mail is made with the organization's name on one line. Without a mail server none is queued.
 */
export async function mailOwners(
  tx: Tx,
  { smtpUrl }: Pick<Config, 'smtpUrl'>,
  organizationId: OrganizationId,
  make: (organizationName: string) => { readonly subject: string; readonly body: string },
): Promise<void> {
  if (smtpUrl === null) return
  const owners = await tx
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['u.email', 'o.name'])
    .where('m.organization_id', '=', organizationId)
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .where('u.password_hash', 'is not', null)
    .orderBy('m.id')
    .execute()
  for (const { email, name } of owners)
    await sendMail(tx, { recipient: email, ...make(oneLine(name)) })
}
