import { ApiError, type CreatedInvitation, type Role } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { enter } from './auth.ts'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

/** Invitations that nobody has accepted yet, newest first. */
export const invitationsQuery = infiniteQueryOptions({
  queryKey: ['invitations'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.invitations.list({ limit: 100, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** Only this result has the link. */
export async function invite(email: string, role: Role): Promise<CreatedInvitation> {
  const created = await computer.invitations.create({ email, role })
  await refreshInvitations()
  return created
}

export async function revokeInvitation(invitationId: string): Promise<void> {
  await computer.invitations.revoke(invitationId)
  await refreshInvitations()
}

/** What the link of an invitation is for. Needs no session. */
export function invitationLookupQuery(token: string) {
  return queryOptions({
    queryKey: ['invitation-lookup', token] as const,
    queryFn: ({ signal }) => computer.invitations.lookup(token, { signal }),
  })
}

/** Makes the signed-in person a member, and acts in the organization from then on. */
export async function acceptInvitation(token: string): Promise<void> {
  try {
    const { organizationId } = await computer.invitations.accept(token)
    return await enter(organizationId)
  } catch (error) {
    // It may have ended since the page was opened.
    if (error instanceof ApiError && error.code === 'conflict')
      await queryClient.invalidateQueries(invitationLookupQuery(token))
    throw error
  }
}

async function refreshInvitations(): Promise<void> {
  await queryClient.invalidateQueries(invitationsQuery)
}
