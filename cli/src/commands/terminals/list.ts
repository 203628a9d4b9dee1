import type { Terminal } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

const columns: Columns<Terminal> = {
  id: ({ id }) => id,
  attached: ({ attached }) => (attached ? 'yes' : null),
  user: ({ user }) => user,
  size: ({ cols, rows }) => `${cols}x${rows}`,
  opened: ({ createdAt }) => formatAge(createdAt),
  command: ({ command }) => command.join(' '),
}

export const list = clientCommand('list')
  .alias('ls')
  .description('List the open terminals of a machine, newest first.')
  .argument('<machine>', 'machine ID or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const open = await machine.terminals.list({ limit: 100 }).all()
    showList(open, columns, { ...options, emptyMessage: 'No terminals are open.' })
  })
