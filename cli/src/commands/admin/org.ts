import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const list = new Command('list')
  .description('List all organizations with their plans.')
  .option('--json', 'print the result as JSON')
  .action(async ({ json }) => runAdmin({ command: 'org list' }, { json }))

const setPlan = new Command('set-plan')
  .description('Change the plan of an organization, and limits of its own.')
  .argument('<organization>', 'its id, as `org list` shows it')
  .argument('<plan>', 'free, developer, pro, startup or enterprise')
  .option('--limit <key=value>', 'a limit of its own; may be repeated', collectLimit, {})
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Limits: running_machines, machines, snapshots_per_machine, templates, members,
concurrent_sessions (whole numbers) and largest_size (small, standard or large).
Those given replace all that the organization had of its own. The plan enterprise
has none, so it needs all of them.`,
  )
  .action(async (organizationId, planId, { limit, json }) =>
    runAdmin({ command: 'org set-plan', organizationId, planId, limits: limit }, { json }),
  )

export const org = new Command('org')
  .description('Manage organizations.')
  .addCommand(list)
  .addCommand(setPlan)

type Limits = Readonly<Record<string, string>>

function collectLimit(text: string, before: Limits): Limits {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('It is key=value, such as machines=200.')
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}
