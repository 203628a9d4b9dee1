import type { UsageLine } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { formatTable, writeJson, type Columns } from '../../output.ts'
import { printable } from '../../text.ts'
import { checkout } from './checkout.ts'
import { portal } from './portal.ts'
import { formatCents, formatQuantity, nameOfMeter } from './quantities.ts'
import { readTime } from './read-time.ts'

export const billing = clientCommand('billing')
  .addCommand(checkout)
  .addCommand(portal)
  .description('Show what a billing period used, what of it is included, and what it costs.')
  .option('--period <time>', 'any time in the period, such as 2030-01-31 (default: now)')
  .action(async ({ period, ...options }) => {
    await using computer = await connect(options)
    const summary = await computer.billing.summary({ period: readTime(period) })
    if (options.json) return writeJson(summary)
    const { planId, status, periodStart, periodEnd, computeCredits: credits } = summary
    process.stdout.write(
      [
        `${planId}, ${periodStart} to ${periodEnd} (${status})\n\n`,
        formatTable(summary.lines, columns),
        `\nCompute: ${credits.used} of ${credits.included} included standard-hours used\n`,
        ...summary.adjustments.map(
          ({ amountCents, currency, reason }) =>
            `Adjustment: ${formatCents(amountCents, currency)}  ${printable(reason)}\n`,
        ),
        `Total: ${formatCents(summary.totalCents, summary.currency)}\n`,
      ].join(''),
    )
  })

const columns: Columns<UsageLine> = {
  meter: ({ meter }) => nameOfMeter(meter),
  used: ({ meter, quantity }) => formatQuantity(meter, quantity),
  included: ({ meter, included }) => formatQuantity(meter, included),
  beyond: ({ meter, billable }) => formatQuantity(meter, billable),
  amount: ({ amountCents, currency }) => formatCents(amountCents, currency),
}
