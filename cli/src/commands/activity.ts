import type { Activity } from '@computer/sdk'
import { connect, findMachine } from '../client.ts'
import { clientCommand, examples, parseCount } from '../command.ts'
import { newest } from '../newest.ts'
import { writeJson } from '../output.ts'
import { printable } from '../text.ts'

export const activity = clientCommand('activity')
  .description('Show what was done with a machine, by whom, and with --follow what is being done.')
  .argument('<machine>', 'machine ID or name')
  .option('-f, --follow', 'keep running and print what is done')
  .option('-n, --limit <count>', 'number of past entries to show', parseCount, 25)
  .option('--type <types...>', 'only entries of these types')
  .addHelpText(
    'after',
    `
Prints the oldest entry first. With --json, each line is one entry. Entries are kept for 30 days.
${examples('computer activity first', 'computer activity first --type command.run', 'computer activity first --follow --json | jq .data')}`,
  )
  .action(async (ref, { follow, limit, type, json, ...options }) => {
    await using computer = await connect(options)
    const show = (entry: Activity) => (json ? writeJson(entry) : console.log(lineOf(entry)))
    const isWanted = (entry: Activity) => !type || type.includes(entry.type)
    const machine = await findMachine(computer, ref)
    const log = machine.activity.subscribe()
    // From here on nothing is missed; what was just written may be shown twice, and is not.
    if (follow) await log.ready
    const past = await newest(machine.activity.list({ type, limit: Math.min(limit, 100) }), limit)
    for (const entry of past) show(entry)
    if (!follow) return
    const shown = new Set(past.map(({ id }) => id))
    for await (const { cursor: _, ...entry } of log) {
      if (isWanted(entry) && !shown.has(entry.id)) show(entry)
    }
  })

function lineOf({ occurredAt, type, actor, data }: Activity): string {
  const details = Object.entries(data).map(([name, value]) => `${name}=${show(value)}`)
  const parts = [occurredAt, type.padEnd(20), actor?.name ?? '-', ...details]
  return printable(parts.join('  ')).trimEnd()
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
