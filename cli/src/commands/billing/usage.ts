import type { UsageRecord } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatQuantity, nameOfMeter } from './quantities.ts'

export const usage = clientCommand('usage')
  .description('Show what each machine used in the current billing period, or in another time.')
  .argument('[machine]', 'machine ID or name; all machines by default')
  .option('--start <time>', 'beginning of the time, such as 2030-01-31 or 2030-01-31T12:00:00Z')
  .option('--end <time>', 'end of the time')
  .option('--records', 'show each interval instead of sums')
  .addHelpText(
    'after',
    `
Times without an hour are midnight UTC. With --json, quantities are exact: seconds, bytes
times seconds, or bytes.
${examples('computer usage', 'computer usage first --start 2030-01-01 --end 2030-02-01')}`,
  )
  .action(async (ref, { start, end, records, ...options }) => {
    await using computer = await connect(options)
    const machine = ref === undefined ? undefined : await findMachine(computer, ref)
    const found = await computer.usage
      .list({
        limit: 100,
        start: readTime(start),
        end: readTime(end),
        machineId: machine?.id,
        groupBy: records ? undefined : 'machine',
      })
      .all()
    showList(found, columns, { ...options, emptyMessage: 'Nothing was used in this time.' })
  })

const columns: Columns<UsageRecord> = {
  machine: ({ machineName, machineId }) => machineName || machineId,
  meter: ({ meter }) => nameOfMeter(meter),
  quantity: ({ meter, quantity }) => formatQuantity(meter, quantity),
  start: ({ start }) => start,
  end: ({ end }) => end,
}

/** Lets the server judge what is not a date alone. */
export function readTime(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
}
