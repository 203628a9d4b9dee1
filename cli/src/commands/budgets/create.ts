import { ApiError, type BudgetScope, type Computer } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, collectPair, examples, parseCount } from '../../command.ts'
import { showDone } from '../../output.ts'
import {
  actionHelp,
  amountHelp,
  hoursHelp,
  parsePercents,
  readLimit,
  thresholdHelp,
} from './fields.ts'

export const create = clientCommand('create')
  .description('Create a budget of the organization, or of a part of what it uses.')
  .argument('<name>', 'name of the budget')
  .option('--amount <amount>', amountHelp)
  .option('--hours <hours>', hoursHelp)
  .option('--key <id>', 'only what this API key starts and creates')
  .option('--machine <machine>', 'only this machine: ID or name')
  .option('--label <key=value>', 'only machines with this label', collectPair)
  .option('--window <window>', 'day, week, month or once (default: month)')
  .option('--action <action>', `${actionHelp} (default: notify)`)
  .option('--at <percents...>', `${thresholdHelp} (default: 80 100)`, parsePercents)
  .option('--minimum-run <seconds>', 'seconds of compute that a start keeps', parseCount)
  .addHelpText(
    'after',
    examples(
      'computer budgets create everything --amount 100',
      'computer budgets create nightly --hours 10 --window day --action stop --label team=nightly',
    ),
  )
  .action(async (name, { window, action, at, minimumRun, ...options }) => {
    await using computer = await connect(options)
    const limit = readLimit(options)
    if (!limit) throw new ApiError('invalid_request', 'give the limit with --amount or --hours')
    const budget = await computer.budgets.create({
      name,
      limit,
      scope: await readScope(computer, options),
      window: window as 'day',
      action: action as 'stop',
      thresholds: at,
      minimumRunSeconds: minimumRun,
    })
    showDone(`budget "${budget.name}" is created (${budget.id})`, budget, options)
  })

type ScopeFlags = {
  readonly key?: string | undefined
  readonly machine?: string | undefined
  readonly label?: Readonly<Record<string, string>> | undefined
}

async function readScope(
  computer: Computer,
  { key, machine, label = {} }: ScopeFlags,
): Promise<BudgetScope> {
  const scopes: BudgetScope[] = [
    ...(key === undefined ? [] : [{ type: 'api_key' as const, apiKeyId: key }]),
    ...(machine === undefined
      ? []
      : [{ type: 'machine' as const, machineId: (await findMachine(computer, machine)).id }]),
    ...Object.entries(label).map(([name, value]) => {
      return { type: 'label' as const, label: { key: name, value } }
    }),
  ]
  if (scopes.length > 1) {
    throw new ApiError('invalid_request', 'give one of --key, --machine and --label, once')
  }
  return scopes[0] ?? { type: 'organization' }
}
