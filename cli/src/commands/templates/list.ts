import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { templateColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List templates, newest first.')
  .action(async (options) => {
    await using computer = await connect(options)
    const templates = await computer.templates.list({ limit: 100 }).all()
    const emptyMessage = 'No templates. Create one with `computer templates create`.'
    showList(templates, templateColumns, { ...options, emptyMessage })
  })
