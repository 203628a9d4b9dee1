import type { Snapshot } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge, formatBytes } from '../../text.ts'

export const snapshotColumns: Columns<Snapshot> = {
  name: ({ name }) => name,
  state: ({ state }) => state,
  origin: ({ origin }) => origin,
  size: ({ sizeBytes }) => sizeBytes && formatBytes(sizeBytes),
  id: ({ id }) => id,
  machine: ({ machineId }) => machineId,
  created: ({ createdAt }) => formatAge(createdAt),
}

export const snapshotLines: Columns<Snapshot> = {
  ...snapshotColumns,
  image: ({ imageId }) => imageId,
  error: ({ error }) => error,
}
