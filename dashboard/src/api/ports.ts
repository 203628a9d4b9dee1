import type { Preview, PreviewAccess } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/** The published ports of one machine, newest first. */
export function machinePortsQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'ports'] as const,
    queryFn: async ({ signal }) =>
      (await machineHandle(machineId)).ports.list({ limit: 100, signal }).all(),
  })
}

/** The published ports of all machines, newest first. */
export const portsQuery = infiniteQueryOptions({
  queryKey: ['ports'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.ports.list({ limit: 100, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** Only this answer has the credentials of a private port, and only if the port was not published before. */
export async function publishPort(
  machineId: string,
  port: number,
  options: { readonly name?: string; readonly access: PreviewAccess },
): Promise<Preview> {
  const preview = await (await machineHandle(machineId)).ports.publish(port, options)
  await refreshPorts(machineId)
  return preview
}

export async function unpublishPort({
  id,
  machineId,
}: Pick<Preview, 'id' | 'machineId'>): Promise<void> {
  await (await machineHandle(machineId)).ports.unpublish(id)
  await refreshPorts(machineId)
}

async function refreshPorts(machineId: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(machinePortsQuery(machineId)),
    queryClient.invalidateQueries({ queryKey: ['ports'] }),
  ])
}
