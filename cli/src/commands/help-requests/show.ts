import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showRecord } from '../../output.ts'
import { spin } from '../../progress.ts'
import { helpLines } from './columns.ts'
import { showEnded } from './outcome.ts'

export const show = clientCommand('show')
  .alias('get')
  .description('Show all fields of a help request, and how it ended.')
  .argument('<request>', 'help request ID')
  .option('--wait', 'wait until it has ended; exits with 1 unless it is done')
  .action(async (id, { wait, ...options }) => {
    await using computer = await connect(options)
    if (!wait) return showRecord(await computer.helpRequests.get(id), helpLines, options)
    const work = () => computer.helpRequests.waitForEnd(id)
    const { request } = await spin('Waiting for a person…', work)
    showEnded(request, options)
  })
