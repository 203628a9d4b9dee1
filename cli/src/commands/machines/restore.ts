import { connect, findMachine, findSnapshot } from '../../client.ts'
import { examples, waitingCommand, waitOptions, yesFlag } from '../../command.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'
import { showState } from './change-state.ts'

export const restore = waitingCommand('restore')
  .description('Restore a machine to one of its snapshots.')
  .argument('<machine>', 'machine ID or name')
  .argument('<snapshot>', 'snapshot ID or name')
  .addOption(yesFlag())
  .addHelpText(
    'after',
    `
The current disk is first saved as a snapshot named "Before restore". A running machine is
restarted, which closes all connections to it.
${examples('computer machines restore first before-upgrade')}`,
  )
  .action(async (ref, snapshotRef, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const snapshot = await findSnapshot(computer, snapshotRef, machine)
    await confirm(`Restore ${machine.name} to the snapshot "${snapshot.name}"?`, options)
    await spin(`Restoring ${machine.name}`, () =>
      machine.restore(snapshot.id, waitOptions(options)),
    )
    showState(machine, options)
  })
