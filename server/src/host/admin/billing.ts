import type { OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import { listOrganizationIds } from '../../domain/billing/periods.ts'
import { verifyPeriods, type Difference } from '../../domain/billing/verification.ts'
import type { AdminAnswer } from './request.ts'

/** Throws if anything differs, so that a script sees it. */
export async function verifyBilling(
  { db }: Pick<App, 'db'>,
  { organizationId }: { readonly organizationId: OrganizationId | null },
): Promise<AdminAnswer> {
  const ids = organizationId === null ? await listOrganizationIds(db) : [organizationId]
  let periods = 0
  const differences: Difference[] = []
  for (const id of ids) {
    const verified = await verifyPeriods(db, id)
    periods += verified.periods
    differences.push(...verified.differences)
  }
  if (differences.length > 0) {
    throw new Error(`the events do not give what is billed:\n${differences.map(show).join('\n')}`)
  }
  const counted = { organizations: ids.length, periods }
  const text = `${periods} ended periods of ${ids.length} organizations are as their events say`
  return { json: { ...counted, differences: 0 }, text }
}

function show(difference: Difference): string {
  const { organizationId, periodStart, meter, field, billed, recomputed } = difference
  const place = `${organizationId}, period of ${periodStart.toISOString()}, ${meter}`
  return `  ${place}: ${field} ${billed}, by the events ${recomputed}`
}
