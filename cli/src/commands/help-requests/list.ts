import { Option } from '@commander-js/extra-typings'
import { helpStates } from '@computer/sdk/tables'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples, parseCount } from '../../command.ts'
import { showList } from '../../output.ts'
import { helpColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List help requests, newest first: by default those that wait for a person.')
  .option('--machine <machine>', 'only of this machine: ID or name')
  .addOption(
    new Option('--state <states...>', 'only in these states (default: open active)').choices(
      helpStates,
    ),
  )
  .option('-n, --limit <count>', 'number of requests to show', parseCount, 25)
  .addHelpText(
    'after',
    examples('computer help-requests list', 'computer help-requests ls --state done declined'),
  )
  .action(async ({ machine, state, limit, ...options }) => {
    await using computer = await connect(options)
    const machineId = machine && (await findMachine(computer, machine)).id
    const states = [...(state ?? (['open', 'active'] as const))]
    const found = []
    const query = { machineId, state: states, limit: Math.min(limit, 100) }
    for await (const request of computer.helpRequests.list(query)) {
      found.push(request)
      if (found.length === limit) break
    }
    const emptyMessage = state ? 'No help requests found.' : 'Nobody waits for help.'
    showList(found, helpColumns, { ...options, emptyMessage })
  })
