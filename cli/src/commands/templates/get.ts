import { connect, findTemplate } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { templateLines } from './columns.ts'

export const get = clientCommand('get')
  .description('Show all about a template.')
  .argument('<template>', 'its id or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    showRecord(await findTemplate(computer, ref), templateLines, options)
  })
