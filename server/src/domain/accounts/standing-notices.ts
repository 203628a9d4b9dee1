import type { OrganizationId } from '@computer/contract'
import type { Config } from '../../config.ts'
import type { Schema, Tx } from '../../db/database.ts'
import { mailOwners } from './owner-mails.ts'

type Kind = Schema['billing_notices']['kind']

export type Notice = {
  readonly organizationId: OrganizationId
  readonly kind: Kind
  /** The time that it is about. A kind of notice is given once for each. */
  readonly occasion: Date
  readonly subject: (organizationName: string) => string
  /** Paragraphs. The address of the billing page is added. */
  readonly body: (organizationName: string) => readonly string[]
}

/** Whether a notice has been given. */
export async function isGiven(
  tx: Tx,
  { organizationId, kind, occasion }: Pick<Notice, 'organizationId' | 'kind' | 'occasion'>,
): Promise<boolean> {
  const given = await tx
    .selectFrom('billing_notices')
    .select('kind')
    .where('organization_id', '=', organizationId)
    .where('kind', '=', kind)
    .where('occasion', '=', occasion)
    .executeTakeFirst()
  return given !== undefined
}

/** Mails a notice to the owners, unless it was given before. Without a mail server it counts as given. */
export async function giveNotice(
  tx: Tx,
  config: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  notice: Notice,
): Promise<void> {
  const { organizationId, kind, occasion } = notice
  const inserted = await tx
    .insertInto('billing_notices')
    .values({ organization_id: organizationId, kind, occasion })
    .onConflict((given) => given.doNothing())
    .returning('kind')
    .executeTakeFirst()
  if (!inserted) return
  await mailOwners(tx, config, organizationId, (name) => {
    const paragraphs = [...notice.body(name), `Plan and billing: ${config.dashboardUrl}/billing`]
    return { subject: notice.subject(name), body: `${paragraphs.join('\n\n')}\n` }
  })
}
