import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'

export const update = clientCommand('update')
  .description('Change a webhook, disable it, or enable it again.')
  .argument('<webhook>', 'webhook ID')
  .option('--url <url>', 'address that messages are sent to')
  .option('--type <types...>', 'only events and activity of these types')
  .option('--all-types', 'events and activity of all types')
  .option('--enable', 'send what happens from now on')
  .option('--disable', 'send nothing; what happens meanwhile is not sent later')
  .addHelpText('after', examples('computer webhooks update whk_01k… --enable'))
  .action(async (id, { url, type, allTypes, enable, disable, ...options }) => {
    await using computer = await connect(options)
    const enabled = enable ? true : disable ? false : undefined
    const webhook = await computer.webhooks.update(id, {
      url,
      types: allTypes ? null : type,
      enabled,
    })
    showDone(`webhook ${webhook.id} is updated`, webhook, options)
  })
