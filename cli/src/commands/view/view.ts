import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { openView } from './page-server.ts'

export const view = clientCommand('view')
  .description('Open the live desktop of a machine in the browser; Ctrl-C closes it.')
  .argument('<machine>', 'its id or name')
  .option('--control', 'type and click too; without it, one only looks')
  .option('--force', 'take the keyboard from whoever has it')
  .option('--no-open', 'show the address and open no browser')
  .addHelpText(
    'after',
    `
The page is served on this computer alone, to whoever has its address, for as long as the
command runs. It gets pictures from this program, and no key.
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

/** If there is none, the address was shown. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
