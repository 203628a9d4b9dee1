import { connect, findMachine, findSnapshot } from '../../client.ts'
import {
  clientCommand,
  examples,
  timeoutFlag,
  waitFlag,
  waitOptions,
  yesFlag,
} from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'
import { stateOf } from './columns.ts'

export const restore = clientCommand('restore')
  .description('Put a machine back onto a snapshot of it.')
  .argument('<machine>', 'its id or name')
  .argument('<snapshot>', 'its id or name')
  .addOption(yesFlag())
  .addOption(waitFlag())
  .addOption(timeoutFlag())
  .addHelpText(
    'after',
    `
The disk as it is now is kept first, as a snapshot named "Before restore". A machine that
runs is restarted; what is open on it is disconnected.
${examples('computer machines restore first before-upgrade')}`,
  )
  .action(async (ref, snapshotRef, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const snapshot = await findSnapshot(computer, snapshotRef, machine)
    await confirm(`Put ${machine.name} back onto the snapshot "${snapshot.name}"?`, options)
    await spin(`Restoring ${machine.name}`, () =>
      machine.restore(snapshot.id, waitOptions(options)),
    )
    showDone(stateOf(machine), machine.data, options)
  })
