import { ApiError, type MachineEvent } from '@computer/sdk'
import { connect, findMachine } from '../client.ts'
import { clientCommand, examples, parseCount } from '../command.ts'
import { newest } from '../newest.ts'
import { writeJson } from '../output.ts'
import { printable } from '../text.ts'

export const events = clientCommand('events')
  .description('Show the past events of a machine, and with --follow new ones as they occur.')
  .argument('[machine]', 'machine ID or name; with --follow, all machines by default')
  .option('-f, --follow', 'keep running and print events as they occur')
  .option('-n, --limit <count>', 'number of past events to show', parseCount, 25)
  .addHelpText(
    'after',
    `
Prints the oldest event first. With --json, each line is one event.
${examples('computer events first', 'computer events --follow --json | jq .type')}`,
  )
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const show = (event: MachineEvent) =>
      options.json ? writeJson(event) : console.log(lineOf(event, ref === undefined))
    if (ref === undefined) {
      if (!options.follow)
        throw new ApiError('invalid_request', 'pass a machine, or use --follow for all machines')
      for await (const event of computer.events.subscribe()) show(event)
      return
    }
    const machine = await findMachine(computer, ref)
    const past = await newest(
      machine.events.list({ limit: Math.min(options.limit, 100) }),
      options.limit,
    )
    for (const event of past) show(event)
    if (!options.follow) return
    const afterSequence = past.at(-1)?.sequence
    for await (const event of machine.events.subscribe({ afterSequence })) show(event)
  })

function lineOf(event: MachineEvent, namesMachine: boolean): string {
  const { occurredAt, machineId, type, fromState, toState, message } = event
  const move = fromState && toState ? `${fromState} -> ${toState}` : toState
  const parts = [occurredAt, namesMachine && machineId, type.padEnd(26), move, message]
  return printable(parts.filter(Boolean).join('  ')).trimEnd()
}
