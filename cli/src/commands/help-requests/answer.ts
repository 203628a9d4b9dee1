import { Option } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'

export const answer = clientCommand('answer')
  .description('Answer a help request that you have taken, or that nobody has.')
  .argument('<request>', 'help request ID')
  .option('--done', 'what was asked for is done')
  .addOption(new Option('--declined', 'it is not done, and will not be').conflicts('done'))
  .option('--text <text>', 'words for the agent')
  .option('--choice <choice>', 'one of the choices of the request; implies --done')
  .addHelpText(
    'after',
    examples(
      'computer help-requests answer hlp_01k… --done',
      "computer help-requests answer hlp_01k… --declined --text 'Not at that price'",
    ),
  )
  .action(async (id, { done, declined, text, choice, ...options }) => {
    await using computer = await connect(options)
    if (!done && !declined && choice === undefined)
      throw new ApiError('invalid_request', 'pass --done, --declined or --choice')
    const outcome = declined ? ('declined' as const) : ('done' as const)
    const request = await computer.helpRequests.answer(id, { outcome, text, choice })
    showDone(`help request ${id} is ${request.state}`, request, options)
  })
