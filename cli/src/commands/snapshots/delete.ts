import { connect, findSnapshot } from '../../client.ts'
import { clientCommand, timeoutFlag, waitFlag, waitOptions, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'

export const deleteSnapshot = clientCommand('delete')
  .alias('rm')
  .description('Delete the newest snapshot of a machine; older ones only after it.')
  .argument('<snapshot>', 'its id or name')
  .addOption(yesFlag())
  .addOption(waitFlag())
  .addOption(timeoutFlag())
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
