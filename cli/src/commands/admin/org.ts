import { Argument, Command } from '@commander-js/extra-typings'
import { collectPair } from '../../command.ts'
import { readTime } from '../billing/read-time.ts'
import { runAdmin } from './run.ts'

const list = new Command('list')
  .description('List all organizations with their plans.')
  .option('--json', 'print the result as JSON')
  .action(({ json }) => runAdmin({ command: 'org list' }, { json }))

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
  .action((organizationId, planId, { limit, now = false, json }) => {
    const change = { organizationId, planId, limits: limit, immediate: now }
    runAdmin({ command: 'org set-plan', ...change }, { json })
  })

const setTrial = new Command('set-trial')
  .description('Give an organization a plan on trial, until a time.')
  .argument('<organization>', 'organization ID, as shown by `org list`')
  .argument('<plan>', 'developer, pro, startup or enterprise')
  .requiredOption('--until <time>', 'when the trial ends, such as 2030-02-01T00:00:00Z')
  .option('--limit <key=value>', 'override a limit; may be repeated', collectPair, {})
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
Then the organization has the plan of new ones. Owners are told three days before.
\`org set-state ORGANIZATION active\` lets it keep the plan; \`org set-plan\` gives it another.`,
  )
  .action((organizationId, planId, { limit, until, json }) => {
    const trial = { organizationId, planId, limits: limit, until: readTime(until)! }
    runAdmin({ command: 'org set-trial', ...trial }, { json })
  })

const setState = new Command('set-state')
  .description('Change the billing state of an organization.')
  .argument('<organization>', 'organization ID, as shown by `org list`')
  .addArgument(new Argument('<state>', 'the new state').choices(['active', 'past_due', 'canceled']))
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
past_due: a payment is missing. After 7 days no machine can be created, started or forked.
canceled: at the end of the period the plan of new organizations follows; machines that run
beyond it are stopped with a day's notice. active: everything is allowed again. No state
deletes anything.`,
  )
  .action((organizationId, state, { json }) =>
    runAdmin({ command: 'org set-state', organizationId, state }, { json }),
  )

export const org = new Command('org')
  .description('Manage organizations.')
  .addCommand(list)
  .addCommand(setPlan)
  .addCommand(setTrial)
  .addCommand(setState)
