import { snapshotOrigins } from '@computer/sdk/tables'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { machineQuery, machinesQuery } from '../../api/machines.ts'
import type { SnapshotsFilter } from '../../api/snapshots.ts'
import { Select } from '../../ui/Select.tsx'
import { originWords } from '../../words.ts'
import { isGone } from '../machine/MachineLink.tsx'
import { searchOf } from './filter.ts'

/** The filter by machine and by origin. It is in the address. */
export function SnapshotFilters({ filter }: { readonly filter: SnapshotsFilter }) {
  const navigate = useNavigate({ from: '/snapshots' })
  const change = (next: SnapshotsFilter) =>
    void navigate({ search: searchOf({ ...filter, ...next }), replace: true })
  return (
    <div className="mb-4 flex flex-wrap gap-2">
      <Select
        label="Machine"
        hideLabel
        className="w-56"
        value={filter.machineId ?? 'all'}
        onChange={(value) => change({ machineId: value === 'all' ? undefined : value })}
        choices={useMachineChoices(filter.machineId)}
      />
      <Select
        label="Origin"
        hideLabel
        className="w-52"
        value={filter.origin ?? 'all'}
        onChange={(value) => change({ origin: value === 'all' ? undefined : value })}
        choices={[
          { value: 'all', label: 'Every origin' },
          ...snapshotOrigins.map((value) => ({ value, label: originWords[value] })),
        ]}
      />
    </div>
  )
}

/** The newest hundred machines, and the one that is chosen, which may be deleted. */
function useMachineChoices(chosen: string | undefined) {
  const { data } = useInfiniteQuery(machinesQuery())
  const { data: record, error } = useQuery({
    ...machineQuery(chosen ?? ''),
    enabled: chosen !== undefined,
  })
  const machines = data?.pages.flatMap((page) => page.data) ?? []
  const choices = machines.map(({ id, name }) => ({ value: id, label: name }))
  if (chosen !== undefined && !machines.some(({ id }) => id === chosen))
    choices.unshift({
      value: chosen,
      label: record?.name ?? (isGone(error) ? 'Deleted machine' : chosen),
    })
  return [{ value: 'all', label: 'Every machine' }, ...choices]
}
