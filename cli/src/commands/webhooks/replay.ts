import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'

export const replay = clientCommand('replay')
  .description('Send all messages since a time again, with the same ids.')
  .argument('<webhook>', 'webhook ID')
  .requiredOption('--since <time>', 'such as 2030-01-31T12:00:00Z; at most 30 days ago')
  .option('--failed', 'only those that failed')
  .addHelpText('after', examples('computer webhooks replay whk_01k… --since 2030-01-31T12:00:00Z'))
  .action(async (id, { since, failed, ...options }) => {
    await using computer = await connect(options)
    const state = failed ? ('failed' as const) : undefined
    const replayed = await computer.webhooks.replay(id, { since, state })
    showDone(`${replayed} messages are sent again`, { replayed }, options)
  })
