import type { BillingState, OrganizationId } from '@computer/contract'
import type { Tx } from '../../db/database.ts'

/** Changes the state of an account. A repetition changes nothing. */
export async function changeStanding(
  tx: Tx,
  organizationId: OrganizationId,
  change: { readonly state: BillingState; readonly trialEndsAt?: Date | null },
): Promise<void> {
  await tx
    .updateTable('billing_accounts')
    .set({ state: change.state })
    .where('organization_id', '=', organizationId)
    .where('state', '!=', change.state)
    .execute()
}
