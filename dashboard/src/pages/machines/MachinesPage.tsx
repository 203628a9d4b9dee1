import type { MachineRecord } from '@computer/sdk'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback } from 'react'
import { machinesQuery, type MachineFilter } from '../../api/machines.ts'
import { useDenial } from '../../api/session.ts'
import type { MachinesSearch } from '../../routes.tsx'
import { Button } from '../../ui/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { Plus } from '../../ui/icons.ts'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Filters } from './Filters.tsx'
import { MachineCard } from './MachineCard.tsx'
import { MachineTable } from './MachineTable.tsx'
import { NoMachines } from './NoMachines.tsx'
import { useRowKeys } from './row-keys.ts'
import { useSelection, type Selection } from './selection.ts'

const BulkBar = lazy(async () => ({ default: (await import('./BulkBar.tsx')).BulkBar }))
const CreateMachine = lazy(async () => ({
  default: (await import('./CreateMachine.tsx')).CreateMachine,
}))

/** More machines than this are a list, unless the person chooses the grid. */
const gridUpTo = 12

export function MachinesPage() {
  const search = useSearch({ from: '/app/' })
  const navigate = useNavigate({ from: '/' })
  const denied = useDenial('machines:create')
  const selection = useSelection()
  const query = useInfiniteQuery({
    ...machinesQuery(filterOf(search)),
    // The rows of the filter before stay, dimmed, until the new ones are there.
    placeholderData: keepPreviousData,
  })
  useRowKeys(selection)
  const machines = uniqueMachines(query.data?.pages ?? [])
  const view = search.view ?? (machines.length > gridUpTo ? 'list' : 'grid')
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [fetchNextPage, hasNextPage, isFetchingNextPage])
  const setCreate = (create: true | undefined) =>
    void navigate({
      search: (before: MachinesSearch) => withCreate(before, create),
      replace: true,
    })
  const isFiltered = Object.keys(filterOf(search)).length > 0
  const createButton = (
    <Button
      look="primary"
      icon={<Plus aria-hidden />}
      disabledReason={denied}
      onClick={() => setCreate(true)}
    >
      Create a machine
    </Button>
  )
  const isEmpty = machines.length === 0 && !isFiltered
  return (
    <Page title="Machines" actions={!isEmpty && createButton}>
      <QueryView query={query} skeleton={<GridSkeleton />}>
        {() =>
          isEmpty ? (
            <NoMachines action={createButton} />
          ) : (
            <>
              <Filters view={view} />
              <div
                aria-busy={query.isPlaceholderData}
                className={cx(query.isPlaceholderData && 'opacity-60')}
              >
                {machines.length === 0 ? (
                  <p role="status" className="py-12 text-center text-muted">
                    No machine matches this filter.
                  </p>
                ) : view === 'grid' ? (
                  <Grid
                    machines={machines}
                    selection={selection}
                    onMore={hasNextPage ? loadMore : undefined}
                  />
                ) : (
                  <MachineTable machines={machines} selection={selection} onEnd={loadMore} />
                )}
              </div>
            </>
          )
        }
      </QueryView>
      <Suspense>
        {selection.ids.size > 0 && (
          <BulkBar
            machines={machines.filter(({ id }) => selection.ids.has(id))}
            selection={selection}
          />
        )}
        {search.create !== undefined && (
          <CreateMachine
            template={typeof search.create === 'string' ? search.create : undefined}
            onClose={() => setCreate(undefined)}
          />
        )}
      </Suspense>
    </Page>
  )
}

function Grid({
  machines,
  selection,
  onMore,
}: {
  readonly machines: readonly MachineRecord[]
  readonly selection: Selection
  readonly onMore: (() => void) | undefined
}) {
  return (
    <>
      <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
        {machines.map((machine) => (
          <MachineCard key={machine.id} machine={machine} selection={selection} />
        ))}
      </ul>
      {onMore && (
        <div className="mt-4 flex justify-center">
          <Button onClick={onMore}>Show more</Button>
        </div>
      )}
    </>
  )
}

function GridSkeleton() {
  return (
    <div
      className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3"
      role="status"
      aria-label="Loading"
    >
      {[1, 2, 3].map((card) => (
        <div key={card} className="h-64 animate-pulse rounded-xl bg-sunken" />
      ))}
    </div>
  )
}

function withCreate(search: MachinesSearch, create: true | undefined): MachinesSearch {
  const { create: _before, ...rest } = search
  return create ? { ...rest, create } : rest
}

function filterOf({ search, state, template, metadata }: MachinesSearch): MachineFilter {
  const [key, ...value] = metadata?.split('=') ?? []
  return {
    ...(search && { search: search.toLowerCase() }),
    ...(state && { state }),
    ...(template && { templateId: template }),
    ...(key && { metadata: { [key]: value.join('=') } }),
  }
}

/** Pages that were read at different moments may hold a machine twice. */
function uniqueMachines(
  pages: readonly { readonly data: readonly MachineRecord[] }[],
): MachineRecord[] {
  return [
    ...new Map(pages.flatMap(({ data }) => data).map((machine) => [machine.id, machine])).values(),
  ]
}
