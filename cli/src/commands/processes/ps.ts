import type { Process } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

const columns: Columns<Process> = {
  id: ({ id }) => id,
  state: ({ state, exitCode }) => (exitCode === null ? state : `${state} (${exitCode})`),
  user: ({ user }) => user,
  started: ({ createdAt }) => formatAge(createdAt),
  command: ({ command }) => command.join(' '),
}

export const ps = clientCommand('ps')
  .description('List the background processes of a machine, newest first.')
  .argument('<machine>', 'machine ID or name')
  .option('-a, --all', 'include processes that have exited')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const found = await machine.processes.list({ limit: 100 }).all()
    const shown = options.all ? found : found.filter(({ state }) => state === 'running')
    const emptyMessage = 'No background processes. Start one with `computer exec --detach`.'
    showList(shown, columns, { ...options, emptyMessage })
  })
