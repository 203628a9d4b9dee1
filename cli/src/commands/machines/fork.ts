import { connect, findMachine, findSnapshot } from '../../client.ts'
import {
  clientCommand,
  collectPair,
  examples,
  timeoutFlag,
  waitFlag,
  waitOptions,
} from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const fork = clientCommand('fork')
  .description('Branch a machine: a new one from its disk as it is now, or from a snapshot.')
  .argument('<machine>', 'the source: its id or name')
  .argument('[name]', 'of the new machine (default: one is made up)')
  .option('--snapshot <snapshot>', 'begin from this snapshot of it: its id or name')
  .option('--metadata <key=value>', 'something to remember; may be repeated', collectPair)
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .addHelpText('after', examples('computer machines fork first second'))
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const source = await findMachine(computer, ref)
    const snapshot = options.snapshot && (await findSnapshot(computer, options.snapshot, source))
    const wish = { name, metadata: options.metadata, snapshotId: (snapshot || undefined)?.id }
    const machine = await spin(`Forking ${source.name}`, () =>
      source.fork({ ...wish, ...waitOptions(options) }),
    )
    showDone(`${machine.name} is ${machine.state} (${machine.id})`, machine.data, options)
  })
