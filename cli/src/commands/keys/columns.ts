import type { ApiKey } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

export const keyColumns: Columns<ApiKey> = {
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  id: ({ id }) => id,
  used: ({ lastUsedAt }) => formatAge(lastUsedAt),
  state: ({ revokedAt, expiresAt }) => {
    if (revokedAt) return 'revoked'
    return expiresAt && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'valid'
  },
  scopes: ({ scopes }) => scopes.join(' '),
}
