import { connect, findBudget } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'

export const deleteBudget = clientCommand('delete')
  .alias('rm')
  .description('Delete a budget. Machines that it stopped stay stopped.')
  .argument('<budget>', 'budget ID or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const budget = await findBudget(computer, ref)
    await confirm(`Delete the budget "${budget.name}"?`, options)
    await computer.budgets.delete(budget.id)
    showDone(`budget "${budget.name}" is deleted`, budget, options)
  })
