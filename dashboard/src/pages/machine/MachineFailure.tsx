import type { MachineRecord } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { failureQuery } from '../../api/machines.ts'
import { CircleAlert } from '../../ui/icons.ts'

/** Why a machine is in an error, and the ways back to work. Its disk is kept. */
export function MachineFailure({ machine: { id } }: { readonly machine: MachineRecord }) {
  const { data: failure } = useQuery(failureQuery(id))
  return (
    <div role="alert" className="mx-4 mt-3 flex gap-2.5 rounded-lg bg-bad-soft p-3 sm:mx-6">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div>
        <p className="font-medium break-words">{failure?.message ?? 'This machine failed.'}</p>
        <p className="text-muted">
          Its disk is kept. Start it to try again, or go to its{' '}
          <Link
            to="/m/$machineId/snapshots"
            params={{ machineId: id }}
            className="font-medium text-fg underline"
          >
            snapshots
          </Link>{' '}
          to restore or fork an earlier disk.
        </p>
      </div>
    </div>
  )
}
