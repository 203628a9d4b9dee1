import type { OrganizationId } from '@computer/contract'
import type { OrganizationRow, Tx } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { lockOrganization } from '../accounts/organizations.ts'

/** Locks an organization that an operator names. */
export async function lockExisting(
  tx: Tx,
  organizationId: OrganizationId,
): Promise<Pick<OrganizationRow, 'id' | 'name' | 'created_at'>> {
  await lockOrganization(tx, { organizationId })
  const organization = await tx
    .selectFrom('organizations')
    .select(['id', 'name', 'created_at'])
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!organization) throw notFound(`organization ${organizationId}`)
  return organization
}
