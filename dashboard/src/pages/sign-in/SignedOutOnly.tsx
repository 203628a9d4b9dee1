import { useQuery } from '@tanstack/react-query'
import { useEffect, type ReactNode } from 'react'
import { sessionQuery } from '../../api/session.ts'

/**
 * Shows its content to people who are not signed in. Others go on to `path`, also when they sign in from
 * another tab meanwhile. A real navigation: the path may be one of the API.
 */
export function SignedOutOnly({
  path,
  children,
}: {
  readonly path: string
  readonly children: ReactNode
}) {
  const { data: session, isFetched } = useQuery(sessionQuery)
  const isSignedIn = session !== undefined
  useEffect(() => {
    if (isSignedIn) location.replace(path)
  }, [isSignedIn, path])
  return isFetched && !isSignedIn ? children : null
}
