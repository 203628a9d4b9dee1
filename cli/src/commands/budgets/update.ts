import { connect, findBudget } from '../../client.ts'
import { clientCommand, examples, parseCount } from '../../command.ts'
import { showDone } from '../../output.ts'
import {
  actionHelp,
  amountHelp,
  hoursHelp,
  parsePercents,
  readLimit,
  thresholdHelp,
} from './fields.ts'

export const update = clientCommand('update')
  .description('Change a budget. The change takes effect at once.')
  .argument('<budget>', 'budget ID or name')
  .option('--name <name>', 'new name')
  .option('--amount <amount>', amountHelp)
  .option('--hours <hours>', hoursHelp)
  .option('--action <action>', actionHelp)
  .option('--at <percents...>', thresholdHelp, parsePercents)
  .option('--minimum-run <seconds>', 'seconds of compute that a start keeps', parseCount)
  .addHelpText('after', examples('computer budgets update nightly --hours 20'))
  .action(async (ref, { name, action, at, minimumRun, ...options }) => {
    await using computer = await connect(options)
    const { id } = await findBudget(computer, ref)
    const budget = await computer.budgets.update(id, {
      name,
      limit: readLimit(options),
      action: action as 'stop',
      thresholds: at,
      minimumRunSeconds: minimumRun,
    })
    showDone(`budget "${budget.name}" is changed`, budget, options)
  })
