import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const rename = clientCommand('rename')
  .description('Rename a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('<name>', 'new name')
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const oldName = machine.name
    await machine.update({ name })
    showDone(`${oldName} is now named ${machine.name}`, machine.data, options)
  })
