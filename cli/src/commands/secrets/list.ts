import type { Secret } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

/** Only the list across all machines carries `machineId`. */
type ListedSecret = Secret & { readonly machineId?: string }

const columns: Columns<ListedSecret> = {
  name: ({ name }) => name,
  version: ({ version }) => version,
  delivered: ({ deliveredAt }) => (deliveredAt ? formatAge(deliveredAt) : 'not yet'),
}
const withMachine: Columns<ListedSecret> = {
  ...columns,
  machine: ({ machineId }) => machineId ?? null,
}

export const list = clientCommand('list')
  .alias('ls')
  .description('List secrets by name. Their values cannot be read.')
  .argument('[machine]', 'only this machine: ID or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const { secrets } = ref ? await findMachine(computer, ref) : computer
    const stored: ListedSecret[] = await secrets.list({ limit: 100 }).all()
    const emptyMessage = 'No secrets. Store one with `computer secrets set`.'
    showList(stored, ref ? columns : withMachine, { ...options, emptyMessage })
  })
