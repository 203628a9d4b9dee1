import { connect, findMachine } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'

export const deleteSecret = clientCommand('delete')
  .alias('rm')
  .description('Delete a secret, also from the running machine. Copies made there remain.')
  .argument('<machine>', 'machine ID or name')
  .argument('<name>')
  .addOption(yesFlag())
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await confirm(`Delete the secret ${name} of ${machine.name}?`, options)
    await machine.secrets.delete(name)
    showDone(`${name} of ${machine.name} is deleted`, { name, machineId: machine.id }, options)
  })
