import type { ApiKeyScope, OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { insertApiKey } from '../accounts/api-keys.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import type { Operator } from './users.ts'

/**
 * Makes an API key in the name of an owner of the organization; without one, of the first organization. Only
 * this result has its secret.
 */
export async function createOwnerKey(
  app: Pick<App, 'db'>,
  operator: Operator,
  input: {
    readonly organizationId: OrganizationId | null
    readonly name: string
    readonly scopes: readonly ApiKeyScope[]
  },
) {
  return app.db.transaction().execute(async (tx) => {
    const owner = await findOwner(tx, input.organizationId)
    const key = await insertApiKey(tx, owner, newId('key'), input)
    await noteAudit(tx, {
      organizationId: owner.organizationId,
      type: 'api_key.created',
      actor: operator,
      address: null,
      target: { type: 'api_key', id: key.id, name: key.name },
    })
    return key
  })
}

/** The first owner who is not disabled, because a key works no longer than its creator. */
async function findOwner(tx: Tx, organizationId: OrganizationId | null) {
  const owners = tx
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['m.user_id as userId', 'm.organization_id as organizationId'])
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .orderBy('m.id')
    .limit(1)
  const found = await (
    organizationId === null ? owners : owners.where('m.organization_id', '=', organizationId)
  ).executeTakeFirst()
  if (found) return found
  throw notFound(
    organizationId === null ? 'an owner' : `an owner of organization ${organizationId}`,
  )
}
