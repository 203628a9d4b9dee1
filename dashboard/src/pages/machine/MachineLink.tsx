import { ApiError } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { machineQuery } from '../../api/machines.ts'

/** The machine that a row belongs to: its name, or that it is deleted. */
export function MachineLink({
  machineId,
  tab = '/m/$machineId',
}: {
  readonly machineId: string
  /** Where the link leads. */
  readonly tab?:
    | '/m/$machineId'
    | '/m/$machineId/snapshots'
    | '/m/$machineId/ports'
    | '/m/$machineId/secrets'
    | undefined
}) {
  const { data: record, error } = useQuery(machineQuery(machineId))
  if (isGone(error))
    return (
      <span className="text-muted" title={machineId}>
        deleted machine
      </span>
    )
  return (
    <Link to={tab} params={{ machineId }} className="underline-offset-2 hover:underline">
      {record?.name ?? <code className="text-xs">{machineId}</code>}
    </Link>
  )
}

/** The server no longer knows what was asked for. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found'
}
