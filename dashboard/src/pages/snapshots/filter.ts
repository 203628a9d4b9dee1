import { snapshotOrigins } from '@computer/sdk/tables'
import type { SnapshotsFilter } from '../../api/snapshots.ts'
import type { SnapshotsSearch } from '../../routes.tsx'

/** The filter that the address asks for. Values that the server does not know are passed over. */
export function filterOf({ machine, origin }: SnapshotsSearch): SnapshotsFilter {
  const known = snapshotOrigins.find((one) => one === origin)
  return {
    ...(machine !== undefined && /^mch_[0-9a-z]{20,32}$/.test(machine) && { machineId: machine }),
    ...(known && { origin: known }),
  }
}

export function searchOf({ machineId, origin }: SnapshotsFilter): SnapshotsSearch {
  return { ...(machineId && { machine: machineId }), ...(origin && { origin }) }
}
