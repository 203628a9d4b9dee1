import { Option } from '@commander-js/extra-typings'
import { connect } from '../../client.ts'
import { clientCommand, parseCount } from '../../command.ts'
import { showList } from '../../output.ts'
import { deliveryColumns } from './columns.ts'

const states = ['pending', 'delivered', 'failed'] as const

export const deliveries = clientCommand('deliveries')
  .description('List the deliveries of a webhook, newest first.')
  .argument('<webhook>', 'webhook ID')
  .option('-n, --limit <count>', 'number of deliveries to show', parseCount, 25)
  .addOption(new Option('--state <state>', 'only deliveries in this state').choices(states))
  .action(async (id, { limit, state, ...options }) => {
    await using computer = await connect(options)
    const found = []
    const query = { limit: Math.min(limit, 100), state }
    for await (const delivery of computer.webhooks.deliveries(id, query)) {
      found.push(delivery)
      if (found.length === limit) break
    }
    showList(found, deliveryColumns, { ...options, emptyMessage: 'No deliveries yet.' })
  })
