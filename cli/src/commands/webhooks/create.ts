import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { writeJson } from '../../output.ts'
import { printable } from '../../text.ts'

export const create = clientCommand('create')
  .description('Create a webhook and print its signing secret, which cannot be read again.')
  .argument('<url>', 'address that messages are sent to')
  .option('--type <types...>', 'only events and activity of these types (default: all)')
  .option('--machine <machine>', 'only of this machine: ID or name')
  .addHelpText(
    'after',
    `
The secret alone is written to standard output, so that it can go into a file or a variable.
${examples('computer webhooks create https://example.com/hook --type machine.failed help.requested')}`,
  )
  .action(async (url, { type: types, machine, ...options }) => {
    await using computer = await connect(options)
    const machineId = machine && (await findMachine(computer, machine)).id
    const webhook = await computer.webhooks.create({ url, types, machineId })
    if (options.json) return writeJson(webhook)
    console.error(printable(`Created ${webhook.id}. Its signing secret is shown only now:`))
    console.log(webhook.secret)
  })
