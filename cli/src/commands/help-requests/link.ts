import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { writeJson } from '../../output.ts'
import { printable } from '../../text.ts'

export const link = clientCommand('link')
  .description('Make a new takeover link for somebody without an account. Earlier ones end.')
  .argument('<request>', 'help request ID')
  .action(async (id, options) => {
    await using computer = await connect(options)
    const made = await computer.helpRequests.createLink(id)
    if (options.json) return writeJson(made)
    console.error(printable(`It works once, until ${made.expiresAt}:`))
    console.log(made.takeoverUrl)
  })
