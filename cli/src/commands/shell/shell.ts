import { ApiError } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { argv, failAs255, userFlag } from '../remote-command.ts'
import { runTerminal, terminalSize } from './terminal.ts'

export const shell = clientCommand('shell')
  .description('Open a terminal in a machine, running a login shell or a command.')
  .argument('<machine>', 'machine ID or name')
  .argument('[command...]', "program and arguments (default: the user's shell)")
  .addOption(userFlag())
  .option('-w, --cwd <folder>', "working folder (default: the user's home)")
  .option('--attach <id>', 'reattach to a terminal that was detached with ~.')
  .passThroughOptions()
  .addHelpText(
    'after',
    `
Press Enter, then ~. to detach; programs keep running, and --attach returns to them. A lost
connection is re-established automatically. The exit code is that of the shell or the
command, or 255 if the terminal could not be opened.
${examples('computer shell first', 'computer shell first -- vim notes.txt')}`,
  )
  .action(async (ref, command, options) =>
    failAs255(options, async () => {
      if (!process.stdin.isTTY || !process.stdout.isTTY) {
        const message =
          'standard input and output must be a terminal; use `computer exec` for pipes and files'
        throw new ApiError('invalid_request', message)
      }
      await using computer = await connect(options)
      const machine = await findMachine(computer, ref)
      const size = terminalSize()
      const env = { TERM: process.env['TERM'] ?? 'xterm-256color', ...colors() }
      const { user, cwd, attach } = options
      const input = {
        ...(command.length > 0 && { command: argv(command) }),
        user,
        cwd,
        env,
        ...size,
      }
      const id = attach ?? (await machine.terminals.open(input)).id
      const end = await runTerminal(machine, id)
      if (end.type === 'detached') {
        const reattach = `computer shell --attach ${id} ${machine.name}`
        console.error(`Detached; programs keep running. Reattach with: ${reattach}`)
      } else process.exitCode = end.exitCode
    }),
  )

function colors(): Record<string, string> {
  const { COLORTERM } = process.env
  return COLORTERM ? { COLORTERM } : {}
}
