import type { OrganizationId } from '@computer/contract'
import type { Config } from '../../config.ts'
import type { Tx } from '../../db/database.ts'
import { mailOwners } from '../accounts/owner-mails.ts'

const causes = {
  gone: 'The receiver answered that it is gone (410).',
  failing: 'Nothing could be delivered to it for five days.',
}

/** Tells the owners of a webhook's organization that it was disabled. */
export async function mailDisabled(
  tx: Tx,
  config: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  webhook: {
    readonly organizationId: OrganizationId
    readonly url: string
    readonly reason: keyof typeof causes
  },
): Promise<void> {
  // The host alone: the rest of an address may hold a secret.
  const { host } = new URL(webhook.url)
  const page = new URL('/webhooks', config.dashboardUrl)
  await mailOwners(tx, config, webhook.organizationId, (organization) => ({
    subject: `A webhook of ${organization} was disabled`,
    body: `The webhook of ${organization} at ${host} was disabled.

${causes[webhook.reason]}

Enable it again when the receiver works, and replay what failed. What happens until then is not delivered later.

Webhooks are at ${page}
`,
  }))
}
