import { connect } from '../../client.ts'
import { clientCommand, parseCount } from '../../command.ts'
import { showList } from '../../output.ts'
import { deliveryColumns } from './columns.ts'

export const deliveries = clientCommand('deliveries')
  .description('List the deliveries of a webhook, newest first.')
  .argument('<webhook>', 'webhook ID')
  .option('-n, --limit <count>', 'number of deliveries to show', parseCount, 25)
  .option('--state <state>', 'only those that are pending, delivered or failed')
  .action(async (id, { limit, state, ...options }) => {
    await using computer = await connect(options)
    const found = []
    const query = { limit: Math.min(limit, 100), state: state as 'pending' }
    for await (const delivery of computer.webhooks.deliveries(id, query)) {
      found.push(delivery)
      if (found.length === limit) break
    }
    showList(found, deliveryColumns, { ...options, emptyMessage: 'No deliveries yet.' })
  })
