import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples, parseCount } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { portColumns } from './columns.ts'

export const publish = clientCommand('publish')
  .description('Publish a port of a machine at an https URL.')
  .argument('<machine>', 'machine ID or name')
  .argument('<port>', 'port number in the machine', parseCount)
  .option('--name <name>', 'display name')
  .option('--public', 'allow anyone who has the URL; otherwise a secret is required')
  .addHelpText(
    'after',
    `
The secret of a private port, and the one-time link that opens it in a browser, are shown
only once. Programs send the secret as \`authorization: Bearer SECRET\`.
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
