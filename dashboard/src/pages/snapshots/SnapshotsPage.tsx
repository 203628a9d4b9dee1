import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { snapshotsQuery } from '../../api/snapshots.ts'
import { Button } from '../../ui/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { Empty } from '../../ui/Empty.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { sdkExample } from '../machine/sdk-example.ts'
import { SnapshotFilters } from './SnapshotFilters.tsx'
import { SnapshotTable } from './SnapshotTable.tsx'
import { filterOf } from './filter.ts'

/** The snapshots of all machines, those of deleted machines included. */
export function SnapshotsPage() {
  const search = useSearch({ from: '/app/snapshots' })
  const filter = filterOf(search)
  const query = useInfiniteQuery({
    ...snapshotsQuery(filter),
    placeholderData: keepPreviousData,
  })
  const snapshots = query.data?.pages.flatMap(({ data }) => data) ?? []
  const isFiltered = filter.machineId !== undefined || filter.origin !== undefined
  return (
    <Page
      title="Snapshots"
      description="The disks that machines had. They stay when their machine is deleted."
    >
      <QueryView query={query}>
        {() =>
          snapshots.length === 0 && !isFiltered ? (
            <NoSnapshots />
          ) : (
            <>
              <SnapshotFilters filter={filter} />
              <div className={cx(query.isPlaceholderData && 'opacity-60')}>
                {snapshots.length === 0 ? (
                  <p role="status" className="py-12 text-center text-muted">
                    No snapshot matches this filter.
                  </p>
                ) : (
                  <SnapshotTable
                    snapshots={snapshots}
                    // With a filter by origin, the newest of a machine may not be among them.
                    hasAll={filter.origin === undefined}
                  />
                )}
              </div>
              <LoadMore query={query} />
            </>
          )
        }
      </QueryView>
    </Page>
  )
}

function NoSnapshots() {
  const navigate = useNavigate()
  return (
    <Empty
      title="No snapshots yet"
      action={<Button onClick={() => void navigate({ to: '/' })}>Choose a machine</Button>}
      cli="computer snapshots create my-machine before-upgrade"
      sdk={sdkExample(
        'my-machine',
        `const snapshot = await machine.snapshots.create({ name: 'before-upgrade' })`,
        'await machine.restore(snapshot.id)',
      )}
    >
      A snapshot keeps the disk of a machine as it is at one moment. Take one on the Snapshots tab
      of a machine; each stop takes one by itself.
    </Empty>
  )
}
