import { connect } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'

export const deleteWebhook = clientCommand('delete')
  .alias('rm')
  .description('Delete a webhook and its deliveries.')
  .argument('<webhook>', 'webhook ID')
  .addOption(yesFlag())
  .action(async (id, options) => {
    await using computer = await connect(options)
    const webhook = await computer.webhooks.get(id)
    await confirm(`Delete the webhook to ${webhook.url}?`, options)
    await computer.webhooks.delete(id)
    showDone(`webhook ${id} is deleted`, webhook, options)
  })
