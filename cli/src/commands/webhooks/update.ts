import { Option } from '@commander-js/extra-typings'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'

export const update = clientCommand('update')
  .description('Change a webhook, disable it, or enable it again.')
  .argument('<webhook>', 'webhook ID')
  .option('--to <url>', 'address that messages are sent to')
  .option('--type <types...>', 'only events and activity of these types')
  .addOption(new Option('--all-types', 'events and activity of all types').conflicts('type'))
  .option('--enable', 'send what happens from now on')
  .addOption(
    new Option('--disable', 'send nothing; what happens meanwhile is not sent later').conflicts(
      'enable',
    ),
  )
  .addHelpText(
    'after',
    examples(
      'computer webhooks update whk_01k… --enable',
      'computer webhooks update whk_01k… --to https://example.com/hook --all-types',
    ),
  )
  .action(async (id, { to: url, type, allTypes, enable, disable, ...options }) => {
    await using computer = await connect(options)
    const types = allTypes ? null : type
    const enabled = enable ? true : disable ? false : undefined
    const webhook = await computer.webhooks.update(id, { url, types, enabled })
    showDone(`webhook ${webhook.id} is updated`, webhook, options)
  })
