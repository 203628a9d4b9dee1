import type { Template } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge, formatBytes } from '../../text.ts'

export const templateColumns: Columns<Template> = {
  name: ({ name }) => name,
  state: ({ state }) => state,
  size: ({ size }) => size,
  captured: ({ sizeBytes }) => sizeBytes && formatBytes(sizeBytes),
  id: ({ id }) => id,
  created: ({ createdAt }) => formatAge(createdAt),
  description: ({ description }) => description,
}

export const templateLines: Columns<Template> = {
  ...templateColumns,
  image: ({ imageId }) => imageId,
  snapshot: ({ snapshotId }) => snapshotId,
  source: ({ sourceMachineId }) => sourceMachineId,
  error: ({ error }) => error,
}
