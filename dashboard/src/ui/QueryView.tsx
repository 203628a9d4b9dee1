import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isUnavailable } from '../api/query-client.ts'
import { formatRelative } from '../format.ts'
import { Button } from './Button.tsx'
import { ErrorNotice } from './ErrorNotice.tsx'
import { Skeleton } from './Loading.tsx'

/**
 * The states of a query: a skeleton, an error with its next step, the data; and after a failed refresh the
 * old data, dimmed, with its age.
 */
export function QueryView<T>({
  query,
  skeleton = <Skeleton />,
  children,
}: {
  readonly query: Pick<
    UseQueryResult<T>,
    'data' | 'error' | 'failureReason' | 'isFetching' | 'isPending' | 'dataUpdatedAt'
  > & { readonly refetch: () => unknown }
  readonly skeleton?: ReactNode
  readonly children: (data: T) => ReactNode
}) {
  const { data, error, failureReason, isFetching, isPending, refetch, dataUpdatedAt } = query
  const retry = (
    <Button size="small" busy={isFetching} onClick={() => void refetch()}>
      Try again
    </Button>
  )
  if (isPending && isUnavailable(failureReason))
    return (
      <div>
        <p role="status" className="mb-2 text-muted">
          The machine is starting. This goes on by itself.
        </p>
        {skeleton}
      </div>
    )
  if (isPending) return skeleton
  if (data === undefined) return <ErrorNotice error={error}>{retry}</ErrorNotice>
  const age = error && formatRelative(new Date(dataUpdatedAt).toISOString())
  // The data keeps its place among the elements, so that a failed refresh loses nothing that was entered there.
  return (
    <div className={error ? 'space-y-3' : 'contents'}>
      {error && (
        <ErrorNotice error={error} title={`This is from ${age}: it could not be refreshed.`}>
          {retry}
        </ErrorNotice>
      )}
      <div className={error ? 'opacity-60' : 'contents'}>{children(data)}</div>
    </div>
  )
}
