import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const rename = clientCommand('rename')
  .description('Give a machine another name.')
  .argument('<machine>', 'its id or name')
  .argument('<name>', 'the new one')
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const before = machine.name
    await machine.update({ name })
    showDone(`${before} is ${machine.name} now`, machine.data, options)
  })
