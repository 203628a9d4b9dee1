import type { Secret } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

/** Only the list of all machines names them. */
type Named = Secret & { readonly machineId?: string }

const columns: Columns<Named> = {
  name: ({ name }) => name,
  version: ({ version }) => version,
  delivered: ({ deliveredAt }) => (deliveredAt ? formatAge(deliveredAt) : 'not yet'),
}
const withMachine: Columns<Named> = {
  ...columns,
  machine: ({ machineId }) => machineId ?? null,
}

export const list = clientCommand('list')
  .alias('ls')
  .description('List the names of secrets. Nobody can read their values.')
  .argument('[machine]', 'only those of this machine: its id or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const { secrets } = ref ? await findMachine(computer, ref) : computer
    const stored: Named[] = await secrets.list({ limit: 100 }).all()
    const none = 'There are no secrets. `computer secrets set` stores one.'
    showList(stored, ref ? columns : withMachine, { ...options, none })
  })
