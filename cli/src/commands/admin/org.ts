import { Command } from '@commander-js/extra-typings'
import { collectPair } from '../../command.ts'
import { runAdmin } from './run.ts'

const list = new Command('list')
  .description('List all organizations with their plans.')
  .option('--json', 'print the result as JSON')
  .action(async ({ json }) => runAdmin({ command: 'org list' }, { json }))

const setPlan = new Command('set-plan')
  .description('Change the plan of an organization and its limit overrides.')
  .argument('<organization>', 'organization ID, as shown by `org list`')
  .argument('<plan>', 'free, developer, pro, startup or enterprise')
  .option('--now', 'change to a lower plan at once, not at the end of the period')
  .option('--limit <key=value>', 'override a limit; may be repeated', collectPair, {})
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Limits: running_machines, machines, snapshots_per_machine, templates, members,
concurrent_sessions (whole numbers) and largest_size (small, standard or large).
Allowances: included_standard_hours and included_hot_storage_bytes (whole numbers).
The given overrides replace all existing ones. The enterprise plan has no limits of its
own, so it needs every limit set. A higher plan takes effect at once, a lower one at the
end of the billing period.`,
  )
  .action(async (organizationId, planId, { limit, now = false, json }) => {
    const change = { organizationId, planId, limits: limit, immediate: now }
    await runAdmin({ command: 'org set-plan', ...change }, { json })
  })

export const org = new Command('org')
  .description('Manage organizations.')
  .addCommand(list)
  .addCommand(setPlan)
