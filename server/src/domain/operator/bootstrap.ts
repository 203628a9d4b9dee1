import { ApiKeyScope } from '@computer/contract'
import type { Database } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { insertApiKey } from '../accounts/api-keys.ts'
import { openAccount } from '../accounts/periods.ts'

/**
 * Makes the first owner, the first organization (plan startup) and its first API key if the database has
 * no user. The key's secret is returned only once; after a start that broke off before it stored the
 * secret, `renew` makes another key.
 */
export async function ensureOwner(
  db: Database,
  options: { readonly renew: boolean } = { renew: false },
): Promise<{ key: string | null }> {
  return db.transaction().execute(async (tx) => {
    await tx.selectFrom('catalog_versions').select('version').forUpdate().execute()
    const first = await tx
      .selectFrom('memberships')
      .select(['user_id', 'organization_id'])
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (first && !options.renew) return { key: null }

    const userId = first?.user_id ?? newId('usr')
    const organizationId = first?.organization_id ?? newId('org')
    if (!first) {
      const user = { id: userId, email: 'owner@localhost', name: 'Owner' }
      await tx.insertInto('users').values(user).execute()
      const organization = { id: organizationId, name: 'Home' }
      await tx.insertInto('organizations').values(organization).execute()
      await openAccount(tx, organizationId, 'startup')
      await tx
        .insertInto('memberships')
        .values({
          id: newId('mem'),
          organization_id: organizationId,
          user_id: userId,
          role: 'owner',
        })
        .execute()
    }
    const { secret } = await insertApiKey(tx, { organizationId, userId }, newId('key'), {
      name: 'Owner key',
      scopes: ApiKeyScope.options,
    })
    return { key: secret }
  })
}
