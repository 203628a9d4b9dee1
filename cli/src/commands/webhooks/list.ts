import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { webhookColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List the webhooks of the organization, newest first.')
  .action(async (options) => {
    await using computer = await connect(options)
    const webhooks = await computer.webhooks.list({ limit: 100 }).all()
    const emptyMessage = 'No webhooks. Create one with `computer webhooks create`.'
    showList(webhooks, webhookColumns, { ...options, emptyMessage })
  })
