import type { UsageRecord } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showList, type Columns } from '../../output.ts'
import { formatQuantity, nameOfMeter } from './quantities.ts'
import { readTime } from './read-time.ts'
import { exportUsage } from './usage-export.ts'
import { usageLabels } from './usage-labels.ts'

export const usage = clientCommand('usage')
  .description('Show what each machine used in the current billing period, or in another time.')
  .argument('[machine]', 'machine ID or name; all machines by default')
  .option('--start <time>', 'beginning of the time, such as 2030-01-31 or 2030-01-31T12:00:00Z')
  .option('--end <time>', 'end of the time')
  .option(
    '--by <what>',
    'machine, key (who started it), or a key of metadata that usage is counted by',
  )
  .option('--label <key=value>', 'only usage with this label, or with any value of this key')
  .option('--records', 'show each interval instead of sums')
  .addHelpText(
    'after',
    `
Times without an hour are midnight UTC. With --json, quantities are exact: seconds, bytes
times seconds, or bytes.
${examples('computer usage', 'computer usage first --start 2030-01-01 --end 2030-02-01', 'computer usage --by key')}`,
  )
  .action(async (ref, { start, end, by = 'machine', label, records, ...options }) => {
    await using computer = await connect(options)
    const machine = ref === undefined ? undefined : await findMachine(computer, ref)
    const found = await computer.usage
      .list({
        limit: 100,
        start: readTime(start),
        end: readTime(end),
        machineId: machine?.id,
        ...readLabel(label),
        ...(records ? {} : readGrouping(by)),
      })
      .all()
    const group = records ? recordColumns : columnsBy(by)
    showList(
      found,
      { ...group, ...columns },
      {
        ...options,
        emptyMessage: 'Nothing was used in this time.',
      },
    )
  })
  .addCommand(exportUsage)
  .addCommand(usageLabels)

/** A label `key=value`, or `key` for any value. */
function readLabel(text: string | undefined) {
  if (text === undefined) return {}
  const [labelKey, ...value] = text.split('=')
  return { labelKey, labelValue: value.length > 0 ? value.join('=') : undefined }
}

function readGrouping(by: string) {
  if (by === 'machine' || by === 'key') return { groupBy: by } as const
  return { groupBy: 'label', labelKey: by } as const
}

const ofMachine: Columns<UsageRecord> = {
  machine: ({ machineName, machineId }) => machineName || machineId,
}
const ofCaller: Columns<UsageRecord> = {
  caller: ({ actor }) => actor && actor.name,
}
const recordColumns = { ...ofMachine, ...ofCaller }

function columnsBy(by: string): Columns<UsageRecord> {
  if (by === 'machine') return ofMachine
  if (by === 'key') return ofCaller
  return { [by]: ({ labels }) => labels[by] ?? null }
}

const columns: Columns<UsageRecord> = {
  meter: ({ meter }) => nameOfMeter(meter),
  quantity: ({ meter, quantity }) => formatQuantity(meter, quantity),
  start: ({ start }) => start,
  end: ({ end }) => end,
}
