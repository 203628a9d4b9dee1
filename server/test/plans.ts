import type { OrganizationId } from '@computer/contract'
import type { Database } from '../src/db/database.ts'
import type { Terms } from '../src/db/tables/billing.ts'

/** Changes the plan or the terms of an organization, or of all, in the period that is open. */
export async function givePlan(
  db: Database,
  { planId, terms }: { readonly planId?: string; readonly terms?: Terms },
  organizationId?: string,
): Promise<void> {
  await db
    .updateTable('billing_periods')
    .set({
      ...(planId !== undefined && { plan_id: planId }),
      ...(terms !== undefined && { terms: JSON.stringify(terms) as never }),
    })
    .where('status', '=', 'open')
    .$if(organizationId !== undefined, (query) =>
      query.where('organization_id', '=', organizationId as OrganizationId),
    )
    .execute()
}

/** The plan of an organization, and the terms agreed with it. */
export async function planOf(db: Database, organizationId: string) {
  return db
    .selectFrom('billing_periods')
    .select(['plan_id', 'terms'])
    .where('status', '=', 'open')
    .where('organization_id', '=', organizationId as OrganizationId)
    .executeTakeFirstOrThrow()
}
