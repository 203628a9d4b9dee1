import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const verify = new Command('verify')
  .description('Compute ended billing periods again from the log of events, and compare.')
  .argument('[organization]', 'organization ID, as shown by `org list`; default: all')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    '\nChanges nothing. If anything differs, it is listed and the exit code is 1.',
  )
  .action(async (organization, { json }) =>
    runAdmin({ command: 'billing verify', organizationId: organization ?? null }, { json }),
  )

export const billing = new Command('billing')
  .description('Check what is billed.')
  .addCommand(verify)
