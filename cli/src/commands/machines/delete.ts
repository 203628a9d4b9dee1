import { connect, findMachine } from '../../client.ts'
import { waitingCommand, waitOptions, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { spin } from '../../progress.ts'
import { confirm } from '../../prompt.ts'

export const deleteMachine = waitingCommand('delete')
  .alias('rm')
  .description('Delete a machine and its disk. Its snapshots are kept.')
  .argument('<machine>', 'machine ID or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await confirm(`Delete ${machine.name} and its disk?`, options)
    await spin(`Deleting ${machine.name}`, () => machine.delete(waitOptions(options)))
    const sentence = `${machine.name} is ${options.wait ? 'deleted' : 'being deleted'}`
    showDone(sentence, machine.data, options)
  })
