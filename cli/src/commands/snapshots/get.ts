import { connect, findSnapshot } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { snapshotLines } from './columns.ts'

export const get = clientCommand('get')
  .description('Show all about a snapshot.')
  .argument('<snapshot>', 'its id or name')
  .action(async (ref, options) => {
    await using computer = await connect(options)
    showRecord(await findSnapshot(computer, ref), snapshotLines, options)
  })
