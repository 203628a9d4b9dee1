import { connect, filtered } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList } from '../../output.ts'
import { keyColumns } from './columns.ts'

export const list = clientCommand('list')
  .alias('ls')
  .description('List API keys, newest first.')
  .option('--all', 'revoked ones too')
  .action(async (options) => {
    await using computer = await connect(options)
    const wanted = filtered(
      computer.apiKeys.list({ limit: 100 }),
      ({ revokedAt }) => options.all === true || revokedAt === null,
    )
    const keys = []
    for await (const key of wanted) keys.push(key)
    showList(keys, keyColumns, { ...options, none: 'There are no keys.' })
  })
