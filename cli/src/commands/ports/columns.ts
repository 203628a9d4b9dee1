import type { Preview } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

export const portColumns: Columns<Preview> = {
  port: ({ port }) => port,
  url: ({ url }) => url,
  access: ({ access }) => access,
  name: ({ name }) => name,
  machine: ({ machineId }) => machineId,
  'last request': ({ lastRequestAt }) => formatAge(lastRequestAt),
}
