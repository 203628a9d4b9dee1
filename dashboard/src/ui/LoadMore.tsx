import { Button } from './Button.tsx'
import { ErrorNotice } from './ErrorNotice.tsx'

/** Below a list of pages: the button that loads the next one. */
export function LoadMore({
  query,
  label = 'Load more',
}: {
  readonly query: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly isFetchNextPageError: boolean
    readonly error: unknown
    readonly fetchNextPage: () => Promise<unknown>
  }
  readonly label?: string | undefined
}) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = query
  if (!hasNextPage) return null
  return (
    <div className="mt-3 space-y-3 text-center">
      {isFetchNextPageError && <ErrorNotice error={error} />}
      <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {label}
      </Button>
    </div>
  )
}
