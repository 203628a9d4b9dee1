import type { ApiKeyScope, CreatedApiKey } from '@computer/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

/** The keys of the organization, newest first, revoked ones too. */
export const apiKeysQuery = infiniteQueryOptions({
  queryKey: ['api-keys'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.apiKeys.list({ limit: 50, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

export type NewApiKey = {
  readonly name: string
  readonly scopes: readonly ApiKeyScope[]
  readonly expiresAt: string | undefined
}

/** Only this result has the secret. */
export async function createApiKey({ name, scopes, expiresAt }: NewApiKey): Promise<CreatedApiKey> {
  const created = await computer.apiKeys.create({ name, scopes: [...scopes], expiresAt })
  await refreshApiKeys()
  return created
}

export async function revokeApiKey(apiKeyId: string): Promise<void> {
  await computer.apiKeys.revoke(apiKeyId)
  await refreshApiKeys()
}

async function refreshApiKeys(): Promise<void> {
  await queryClient.invalidateQueries(apiKeysQuery)
}
