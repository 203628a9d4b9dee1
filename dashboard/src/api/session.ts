import { ApiError } from '@computer/sdk'
import type { Permission, Principal } from '@computer/sdk'
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { permissionMeanings } from '../words.ts'
import { computer } from './client.ts'

/** Who is signed in, in which organization, with which permissions. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => computer.auth.me({ signal }),
  staleTime: 60_000,
})

export function useSession(): Principal {
  return useSuspenseQuery(sessionQuery).data
}

/**
 * Why the caller may not do what needs this permission, or undefined if it may. For `disabledReason` of
 * buttons: they follow the permission list of the server, never the name of a role.
 */
export function useDenial(permission: Permission): string | undefined {
  const { permissions, organization } = useSession()
  if (permissions.includes(permission)) return undefined
  return `You may not ${permissionMeanings[permission]} in ${organization.name}. Ask one of its owners or admins.`
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unauthenticated'
}
