import type { CreatedInvitation, Role } from '@computer/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
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

async function refreshInvitations(): Promise<void> {
  await queryClient.invalidateQueries(invitationsQuery)
}
