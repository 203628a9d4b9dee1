import { connect, findMachine } from '../../client.ts'
import { waitingCommand, waitOptions } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'

export const create = waitingCommand('create')
  .description("Capture a running machine's disk. The machine keeps running.")
  .argument('<machine>', 'machine ID or name')
  .argument('[name]', 'name of the snapshot (default: generated)')
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const snapshot = await spin(`Capturing ${machine.name}`, () =>
      machine.snapshots.create({ name, ...waitOptions(options) }),
    )
    showDone(`${snapshot.name} is ${snapshot.state} (${snapshot.id})`, snapshot, options)
  })
