import { ApiError, type Machine } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showView } from './show-view.ts'

export const view = clientCommand('view')
  .description('Open the live desktop of a machine in the browser; Ctrl-C closes it.')
  .argument('<machine>', 'machine ID or name')
  .option('--control', 'send keyboard and mouse input (default: view only)')
  .option('--force', 'with --control: take over from the current holder right away')
  .option('--no-open', 'print the URL without opening a browser')
  .addHelpText(
    'after',
    `
The page is served on this computer only, at a secret URL, while the command runs. It
receives the screen from this program and never the API key. It shows who controls the
machine; with --control it also takes control and gives it back.
${examples('computer view first', 'computer view first --control')}`,
  )
  .action(async (ref, options) => {
    const canControl = options.control === true
    await using computer = await connect(options, { sessionType: 'human' })
    const machine = await findMachine(computer, ref)
    if (canControl) await takeControl(machine, options.force === true)
    const endedMessage = 'The command "computer view" has ended.'
    await showView(machine, { canControl, open: options.open, endedMessage })
  })

/** Without force, a machine that somebody else controls is shown; its page offers to take control. */
async function takeControl({ input }: Machine, force: boolean): Promise<void> {
  try {
    await input.acquire({ force })
  } catch (error) {
    if (!(error instanceof ApiError && error.holder)) throw error
    console.error(`${error.message}; the page offers to take control`)
  }
}
