import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const kill = clientCommand('kill')
  .description('Kill the programs of a terminal and close it.')
  .argument('<machine>', 'machine ID or name')
  .argument('<terminal>', 'terminal ID, as shown by `computer terminals list`')
  .action(async (ref, id, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await machine.terminals.kill(id)
    showDone(`${id} is closed`, { id }, options)
  })
