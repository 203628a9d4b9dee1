import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const verify = new Command('verify')
  .description('Compute ended billing periods again from the log of events, and compare.')
  .argument('[organization]', 'organization ID, as shown by `org list`; default: all')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    '\nChanges nothing. If anything differs, it is listed and the exit code is 1.',
  )
  .action((organization, { json }) =>
    runAdmin({ command: 'billing verify', organizationId: organization ?? null }, { json }),
  )

const adjust = new Command('adjust')
  .description('Correct the bill of the current period, which shows the amount and the reason.')
  .argument('<organization>', 'organization ID, as shown by `org list`')
  .requiredOption('--cents <number>', 'amount in cents; a negative one is a credit', readCents)
  .requiredOption('--reason <text>', 'why, as the organization will read it')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    '\nAn adjustment is never changed: correct a wrong one by another. Periods that ended stay as they are.',
  )
  .action((organizationId, { cents, reason, json }) =>
    runAdmin({ command: 'billing adjust', organizationId, cents, reason }, { json }),
  )

export const billing = new Command('billing')
  .description('Check and correct what is billed.')
  .addCommand(verify)
  .addCommand(adjust)

function readCents(text: string): number {
  if (/^[+-]?\d{1,12}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}
