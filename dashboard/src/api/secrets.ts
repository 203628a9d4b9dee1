import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle, machineQuery } from './machines.ts'
import { queryClient } from './query-client.ts'

const pollMs = 2_000

/** The names of a machine's secrets, sorted. No call returns their values. */
export function machineSecretsQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'secrets'] as const,
    queryFn: async ({ signal }) =>
      (await machineHandle(machineId)).secrets.list({ limit: 100, signal }).all(),
    // No event tells that a running machine has received them.
    refetchInterval: ({ state }) => {
      const isWaiting = state.data?.some(({ deliveredAt }) => deliveredAt === null)
      const record = queryClient.getQueryData(machineQuery(machineId).queryKey)
      return isWaiting && record?.state === 'running' ? pollMs : false
    },
  })
}

/** The names of the secrets of all machines, sorted. */
export const secretsQuery = infiniteQueryOptions({
  queryKey: ['secrets'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.secrets.list({ limit: 100, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** Stores a secret or a new version of it. */
export async function storeSecret(machineId: string, name: string, value: string): Promise<void> {
  await (await machineHandle(machineId)).secrets.set(name, value)
  await refreshSecrets(machineId)
}

export async function deleteSecret(machineId: string, name: string): Promise<void> {
  await (await machineHandle(machineId)).secrets.delete(name)
  await refreshSecrets(machineId)
}

async function refreshSecrets(machineId: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(machineSecretsQuery(machineId)),
    queryClient.invalidateQueries({ queryKey: ['secrets'] }),
  ])
}
