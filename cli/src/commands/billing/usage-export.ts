import { Option } from '@commander-js/extra-typings'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { readTime } from './read-time.ts'

export const exportUsage = clientCommand('export')
  .description('Print the usage of a billing period as a CSV file, or all usage as metrics.')
  .addOption(
    new Option(
      '--format <format>',
      'csv: records; focus: costs in the format FOCUS 1.2; openmetrics',
    )
      .choices(['csv', 'focus', 'openmetrics'] as const)
      .default('csv' as const),
  )
  .option('--period <time>', 'any time in the period, such as 2030-01-31 (default: now)')
  .addHelpText('after', examples('computer usage export --format focus > costs.csv'))
  .action(async ({ format, period, ...options }) => {
    await using computer = await connect(options)
    const text =
      format === 'openmetrics'
        ? await computer.usage.metrics()
        : await computer.usage.export({ format, period: readTime(period) })
    process.stdout.write(text)
  })
