import { useInfiniteQuery } from '@tanstack/react-query'
import { machinesQuery } from '../../api/machines.ts'
import { Select } from '../../ui/Select.tsx'

/** All machines, or one of the newest hundred. */
export function MachineSelect({
  value,
  onChange,
  error,
}: {
  readonly value: string | undefined
  readonly onChange: (machineId: string | undefined) => void
  readonly error: string | undefined
}) {
  const { data } = useInfiniteQuery(machinesQuery())
  const machines = data?.pages.flatMap((page) => page.data) ?? []
  return (
    <Select
      label="Machine"
      value={value ?? 'all'}
      onChange={(next) => onChange(next === 'all' ? undefined : next)}
      choices={[
        { value: 'all', label: 'All machines', detail: 'Also of those that are created later' },
        ...machines.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      hint={error ? <span className="text-bad">{error}</span> : 'It cannot be changed later.'}
      className="max-w-80"
    />
  )
}
