import { ApiError, type Computer } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { printable } from '../../text.ts'
import { showView } from '../view/show-view.ts'

export const take = clientCommand('take')
  .description('Take a help request, and open the desktop with control; Ctrl-C leaves it.')
  .argument('<request>', 'help request ID')
  .option('--no-open', 'print the URL of the desktop without opening a browser')
  .addHelpText(
    'after',
    `
Answer it in another terminal, or in the dashboard; the command then ends.
${examples('computer help-requests take hlp_01k…')}`,
  )
  .action(async (id, options) => {
    await using computer = await connect(options, { sessionType: 'human' })
    const { helpRequest } = await computer.helpRequests.take(id)
    try {
      const machine = await computer.machines.get(helpRequest.machineId)
      console.error(printable(`${helpRequest.requestedBy.name} asks: ${helpRequest.message}`))
      console.error(`Answer with \`computer help-requests answer ${id} --done\` (or --declined).`)
      await showView(machine, {
        canControl: true,
        open: options.open,
        endedMessage: 'The help request is no longer yours.',
        until: async (signal) => {
          const { outcome } = await computer.helpRequests.waitForEnd(id, { signal })
          console.error(`help request ${id} is ${outcome}`)
        },
      })
    } finally {
      await leave(computer, id)
    }
  })

/** Does nothing if the request has ended. */
async function leave({ helpRequests }: Computer, id: string): Promise<void> {
  try {
    await helpRequests.release(id)
    console.error(`help request ${id} is open again`)
  } catch (error) {
    const isEnded = error instanceof ApiError && ['conflict', 'not_found'].includes(error.code)
    if (!isEnded) throw error
  }
}
