import { connect, findMachine } from '../../client.ts'
import { clientCommand, timeoutFlag, waitFlag, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = clientCommand('create')
  .description("Capture a running machine's disk as it is now. The machine keeps running.")
  .argument('<machine>', 'its id or name')
  .argument('[name]', 'of the snapshot (default: one is made up)')
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const snapshot = await spin(`Capturing ${machine.name}`, () =>
      machine.snapshots.create({ name, ...waitOptions(options) }),
    )
    showDone(`${snapshot.name} is ${snapshot.state} (${snapshot.id})`, snapshot, options)
  })
