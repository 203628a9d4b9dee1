import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { openView } from './page-server.ts'

export const view = clientCommand('view')
  .description('Open the live desktop of a machine in the browser; Ctrl-C closes it.')
  .argument('<machine>', 'machine ID or name')
  .option('--control', 'send keyboard and mouse input (default: view only)')
  .option('--force', 'take over control from its current holder')
  .option('--no-open', 'print the URL without opening a browser')
  .addHelpText(
    'after',
    `
The page is served on this computer only, at a secret URL, while the command runs. It
receives the screen from this program and never the API key.
${examples('computer view first', 'computer view first --control')}`,
  )
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    if (options.control) await machine.input.acquire({ force: options.force === true })
    await using page = await openView(machine, { viewOnly: options.control !== true })
    console.log(page.url)
    if (options.open) openBrowser(page.url)
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  })

/** Best effort: the URL is already printed. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
