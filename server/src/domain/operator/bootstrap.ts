import { ApiKeyScope } from '@computer/contract'
import type { Database } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { insertApiKey } from '../accounts/api-keys.ts'

/**
 * The first owner, the first organization (plan startup) and its first API key, made when the
 * database knows no user. The key's secret comes back once, when it is made; a start that was cut
 * off before the secret was kept gets another with `renew`.
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
      .orderBy('created_at')
      .limit(1)
      .executeTakeFirst()
    if (first && !options.renew) return { key: null }

    const userId = first?.user_id ?? newId('usr')
    const organizationId = first?.organization_id ?? newId('org')
    if (!first) {
      const user = { id: userId, email: 'owner@localhost', name: 'Owner' }
      await tx.insertInto('users').values(user).execute()
      const organization = { id: organizationId, name: 'Home', plan_id: 'startup' }
      await tx.insertInto('organizations').values(organization).execute()
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
