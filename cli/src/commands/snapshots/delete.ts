import { connect, findSnapshot } from '../../client.ts'
import { waitingCommand, waitOptions, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'

export const deleteSnapshot = waitingCommand('delete')
  .alias('rm')
  .description('Delete a snapshot, which must be the newest of its machine.')
  .argument('<snapshot>', 'snapshot ID or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const snapshot = await findSnapshot(computer, ref)
    await confirm(`Delete the snapshot "${snapshot.name}"?`, options)
    await spin(`Deleting ${snapshot.name}`, () =>
      computer.snapshots.delete(snapshot.id, waitOptions(options)),
    )
    const sentence = `${snapshot.name} is ${options.wait ? 'deleted' : 'being deleted'}`
    showDone(sentence, snapshot, options)
  })
