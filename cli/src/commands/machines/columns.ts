import type { MachineRecord } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

export const machineColumns: Columns<MachineRecord> = {
  name: ({ name }) => name,
  state: ({ state }) => state,
  size: ({ size }) => size,
  id: ({ id }) => id,
  created: ({ createdAt }) => formatAge(createdAt),
}

export const machineLines: Columns<MachineRecord> = {
  ...machineColumns,
  cpu: ({ cpu }) => cpu,
  memory: ({ memoryMb }) => `${memoryMb} MB`,
  disk: ({ diskGb }) => `${diskGb} GB`,
  image: ({ imageId }) => imageId,
  template: ({ templateId }) => templateId,
  region: ({ region }) => region,
  metadata: ({ metadata }) =>
    Object.entries(metadata)
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
  started: ({ startedAt }) => formatAge(startedAt),
  stopped: ({ stoppedAt }) => formatAge(stoppedAt),
}
