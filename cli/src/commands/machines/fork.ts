import { connect, findMachine, findSnapshot } from '../../client.ts'
import { collectPair, examples, waitingCommand, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const fork = waitingCommand('fork')
  .description('Create a machine from the current disk of another, or from one of its snapshots.')
  .argument('<machine>', 'source machine: ID or name')
  .argument('[name]', 'name of the new machine (default: generated)')
  .option('--snapshot <snapshot>', 'fork this snapshot of the machine: ID or name')
  .option('--metadata <key=value>', 'metadata to store; may be repeated', collectPair)
  .addHelpText('after', examples('computer machines fork first second'))
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const source = await findMachine(computer, ref)
    const snapshot = options.snapshot && (await findSnapshot(computer, options.snapshot, source))
    const input = { name, metadata: options.metadata, snapshotId: (snapshot || undefined)?.id }
    const machine = await spin(`Forking ${source.name}`, () =>
      source.fork({ ...input, ...waitOptions(options) }),
    )
    showDone(`${machine.name} is ${machine.state} (${machine.id})`, machine.data, options)
  })
