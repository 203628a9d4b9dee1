import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const retry = clientCommand('retry')
  .description('Send a message again, now, with the same id.')
  .argument('<webhook>', 'webhook ID')
  .argument('<delivery>', 'delivery ID')
  .action(async (id, deliveryId, options) => {
    await using computer = await connect(options)
    const delivery = await computer.webhooks.retry(id, deliveryId)
    showDone(`${deliveryId} is sent again`, delivery, options)
  })
