import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { budgetColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List budgets with what is used of them, newest first.')
  .option('--machine <machine>', 'only those that this machine counts for: ID or name')
  .action(async ({ machine, ...options }) => {
    await using computer = await connect(options)
    const machineId = machine && (await findMachine(computer, machine)).id
    const budgets = await computer.budgets.list({ limit: 100, machineId }).all()
    const emptyMessage = 'No budgets. Create one with `computer budgets create`.'
    showList(budgets, budgetColumns, { ...options, emptyMessage })
  })
