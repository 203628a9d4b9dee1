import { ApiError, type Machine } from '@computer/sdk'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { openView } from './page-server.ts'

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
    const page = await openView(machine, { canControl })
    console.log(page.url)
    if (options.open) openBrowser(page.url)
    const stopWatching = new AbortController()
    const interrupted = Promise.race(signals.map((signal) => once(process, signal)))
    try {
      await Promise.race([interrupted, untilDeleted(machine, stopWatching.signal)])
      await page.close('The command "computer view" has ended.')
    } catch (error) {
      await page.close(
        error instanceof ApiError ? `Ended: ${error.message}.` : 'Ended by an error.',
      )
      throw error
    } finally {
      stopWatching.abort()
    }
  })

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Without force, a machine that somebody else controls is shown; its page offers to take control. */
async function takeControl({ input }: Machine, force: boolean): Promise<void> {
  try {
    await input.acquire({ force })
  } catch (error) {
    if (!(error instanceof ApiError && error.holder)) throw error
    console.error(`${error.message}; the page offers to take control`)
  }
}

/** Rejects once the machine is deleted, or this key may not see it any more. */
async function untilDeleted(machine: Machine, signal: AbortSignal): Promise<never> {
  for await (const { type } of machine.events.subscribe({ signal }))
    if (type === 'machine.deleted') break
  throw new ApiError('not_found', `machine "${machine.name}" was deleted`)
}

/** Best effort: the URL is already printed. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
