import type { Principal } from '@computer/sdk'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isSignedOut, sessionQuery } from '../../api/session.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { SignInLayout } from './SignInLayout.tsx'

export type User = NonNullable<Principal['user']>

/** Shows its content once it is known what a link is for and who is signed in; null is nobody. */
export function LinkView<T>({
  title,
  query,
  children,
}: {
  /** While it loads. */
  readonly title: string
  readonly query: UseQueryResult<T>
  readonly children: (link: T, user: User | null) => ReactNode
}) {
  const session = useQuery(sessionQuery)
  const isKnown = session.data !== undefined || isSignedOut(session.error)
  if (query.data !== undefined && isKnown) return children(query.data, session.data?.user ?? null)
  return (
    <SignInLayout title={title}>
      {query.data === undefined ? (
        <QueryView query={query}>{() => null}</QueryView>
      ) : (
        <QueryView query={session}>{() => null}</QueryView>
      )}
    </SignInLayout>
  )
}
