import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'
import { readHidden } from '../../prompt.ts'

export const set = clientCommand('set')
  .description('Store or replace a secret. A running machine receives it within seconds.')
  .argument('<machine>', 'machine ID or name')
  .argument('<name>', 'name of the environment variable, such as API_TOKEN')
  .addHelpText(
    'after',
    `
Prompts for the value, or reads it from standard input without a final line feed. It is
never an argument, because arguments show in process lists and shell history.
${examples('computer secrets set first API_TOKEN', 'computer secrets set first TLS_KEY < key.pem')}`,
  )
  .action(async (ref, name, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const secret = await machine.secrets.set(name, await readHidden(`Value of ${name}`))
    showDone(`${name} of ${machine.name} is stored (version ${secret.version})`, secret, options)
  })
