import type { OrganizationId } from '@computer/contract'
import type { Config } from '../../config.ts'
import type { Schema, Tx } from '../../db/database.ts'
import { oneLine, sendMail } from './mails.ts'

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
  { smtpUrl, dashboardUrl }: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  notice: Notice,
): Promise<void> {
  const { organizationId, kind, occasion } = notice
  const inserted = await tx
    .insertInto('billing_notices')
    .values({ organization_id: organizationId, kind, occasion })
    .onConflict((given) => given.doNothing())
    .returning('kind')
    .executeTakeFirst()
  if (!inserted || smtpUrl === null) return
  const organization = await tx
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const name = oneLine(organization.name)
  const subject = notice.subject(name)
  const body = [...notice.body(name), `Plan and billing: ${dashboardUrl}/billing`].join('\n\n')
  for (const recipient of await findOwners(tx, organizationId)) {
    await sendMail(tx, { recipient, subject, body: `${body}\n` })
  }
}

/** The addresses of the owners who can sign in. The owner that the first start made has none. */
async function findOwners(tx: Tx, organizationId: OrganizationId): Promise<string[]> {
  const owners = await tx
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select('u.email')
    .where('m.organization_id', '=', organizationId)
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .where('u.password_hash', 'is not', null)
    .orderBy('m.id')
    .execute()
  return owners.map(({ email }) => email)
}
