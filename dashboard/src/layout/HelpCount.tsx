import { useInfiniteQuery } from '@tanstack/react-query'
import { currentHelpQuery } from '../api/help-requests.ts'

/** How many help requests wait for a person. */
export function HelpCount() {
  const { data } = useInfiniteQuery(currentHelpQuery)
  const open = data?.pages.flatMap((page) => page.data).filter(({ state }) => state === 'open')
  if (!open || open.length === 0) return null
  const hasMore = data?.pages.at(-1)?.nextCursor !== null
  return (
    <span className="min-w-5 rounded-full bg-accent px-1.5 text-center text-xs leading-5 font-medium text-white tabular-nums">
      {open.length}
      {hasMore && '+'}
      <span className="sr-only"> open</span>
    </span>
  )
}
