import type { Role } from '@computer/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { leaveFor } from './organizations.ts'
import { queryClient } from './query-client.ts'
import { sessionQuery } from './session.ts'

/** The members of the organization, newest first. */
export const membersQuery = infiniteQueryOptions({
  queryKey: ['members'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.members.list({ limit: 100, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** The session is read again as well: the role may be the person's own. */
export async function changeRole(membershipId: string, role: Role): Promise<void> {
  await computer.members.update(membershipId, role)
  await Promise.all([
    queryClient.invalidateQueries(membersQuery),
    queryClient.invalidateQueries(sessionQuery),
  ])
}

export async function removeMember(membershipId: string): Promise<void> {
  await computer.members.remove(membershipId)
  await queryClient.invalidateQueries(membersQuery)
}

/** Leaves an organization and acts in the one that the server chooses next. */
export async function leaveOrganization(organizationId: string): Promise<void> {
  await computer.organizations.leave(organizationId)
  await enterNext()
}

/** Deletes an organization and acts in the one that the server chooses next. */
export async function deleteOrganization(organizationId: string): Promise<void> {
  await computer.organizations.delete(organizationId)
  await enterNext()
}

export async function renameOrganization(organizationId: string, name: string): Promise<void> {
  await computer.organizations.rename(organizationId, name)
  await queryClient.invalidateQueries(sessionQuery)
}

async function enterNext(): Promise<void> {
  const { organization } = await computer.auth.me()
  leaveFor(organization.id)
}
