import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const test = clientCommand('test')
  .description('Send a message of the type webhook.test.')
  .argument('<webhook>', 'webhook ID')
  .action(async (id, options) => {
    await using computer = await connect(options)
    const delivery = await computer.webhooks.test(id)
    const sentence = `${delivery.id} is on its way; see \`computer webhooks deliveries ${id}\``
    showDone(sentence, delivery, options)
  })
