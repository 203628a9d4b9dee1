import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { writeJson } from '../../output.ts'

export const rotate = clientCommand('rotate')
  .description('Make a new signing secret and print it. For 24 hours both sign.')
  .argument('<webhook>', 'webhook ID')
  .action(async (id, options) => {
    await using computer = await connect(options)
    const webhook = await computer.webhooks.rotate(id)
    if (options.json) return writeJson(webhook)
    console.error('The new signing secret is shown only now:')
    console.log(webhook.secret)
  })
