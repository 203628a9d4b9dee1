import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples, parseCount } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { portColumns } from './columns.ts'

export const publish = clientCommand('publish')
  .description('Give a port of a machine an https address of its own.')
  .argument('<machine>', 'its id or name')
  .argument('<port>', 'the port in the machine', parseCount)
  .option('--name <name>', 'what it is')
  .option('--public', 'for everybody who has the address; otherwise a secret opens it')
  .addHelpText(
    'after',
    `
The secret of a private port, and the link that opens it in a browser once, are shown now
and never again. Programs send the secret as \`authorization: Bearer SECRET\`.
${examples('computer ports publish first 3000')}`,
  )
  .action(async (ref, port, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const access = options.public ? 'public' : undefined
    const preview = await machine.ports.publish(port, { name: options.name, access })
    const { secret, accessUrl } = preview
    const lines = {
      url: portColumns['url']!,
      access: portColumns['access']!,
      ...(secret && { secret: () => secret }),
      ...(accessUrl && { 'open once': () => accessUrl }),
    }
    showRecord(preview, lines, options)
  })
