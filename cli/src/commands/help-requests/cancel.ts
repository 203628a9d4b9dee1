import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

export const cancel = clientCommand('cancel')
  .description('Cancel a help request that has not ended, also while somebody has it.')
  .argument('<request>', 'help request ID')
  .action(async (id, options) => {
    await using computer = await connect(options)
    const request = await computer.helpRequests.cancel(id)
    showDone(`help request ${id} is cancelled`, request, options)
  })
