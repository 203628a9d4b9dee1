import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'
import { readHidden } from '../../prompt.ts'

export const set = clientCommand('set')
  .description('Store or replace a secret. A running machine has it within seconds.')
  .argument('<machine>', 'its id or name')
  .argument('<name>', 'the variable that it becomes in the machine, such as API_TOKEN')
  .addHelpText(
    'after',
    `
The value is asked for, or read from standard input; a line feed at its end is dropped. It
is never an argument: those show in the list of processes and in the history of the shell.
${examples('computer secrets set first API_TOKEN', 'computer secrets set first TLS_KEY < key.pem')}`,
  )
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const secret = await machine.secrets.put(name, await readHidden(`Value of ${name}`))
    showDone(`${name} of ${machine.name} is stored (version ${secret.version})`, secret, options)
  })
