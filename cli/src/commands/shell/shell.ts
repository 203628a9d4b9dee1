import { ApiError } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { argv, failAs255, userFlag } from '../remote-command.ts'
import { runTerminal } from './terminal.ts'

export const shell = clientCommand('shell')
  .description('Open a terminal in a machine: a login shell, or a command on a real pty.')
  .argument('<machine>', 'its id or name')
  .argument('[command...]', "the program and its arguments (default: the user's shell)")
  .addOption(userFlag())
  .option('-w, --cwd <folder>', "where to begin (default: the user's home)")
  .option('--attach <id>', 'go on in a terminal that was left with ~.')
  .passThroughOptions()
  .addHelpText(
    'after',
    `
Enter, then ~. leaves; what runs there goes on, and --attach comes back to it. A connection
that breaks off is made again by itself. The exit code is that of the shell or the command,
or 255 if there could be none.
${examples('computer shell first', 'computer shell first -- vim notes.txt')}`,
  )
  .action(async (ref, command, options) =>
    failAs255(async () => {
      if (!process.stdin.isTTY || !process.stdout.isTTY) {
        const message = 'this is no terminal: use `computer exec`, which takes pipes and files'
        throw new ApiError('invalid_request', message)
      }
      await using computer = await connect(options)
      const machine = await findMachine(computer, ref)
      const size = { cols: process.stdout.columns, rows: process.stdout.rows }
      const env = { TERM: process.env['TERM'] ?? 'xterm-256color', ...colors() }
      const { user, cwd, attach } = options
      const wish = {
        ...(command.length > 0 && { command: argv(command) }),
        user,
        cwd,
        env,
        ...size,
      }
      const id = attach ?? (await machine.terminals.open(wish)).id
      const end = await runTerminal(machine, id)
      if (end.type === 'left') {
        const again = `computer shell --attach ${id} ${machine.name}`
        console.error(`Left. What runs there goes on; come back with: ${again}`)
      } else process.exitCode = end.exitCode
    }),
  )

function colors(): Record<string, string> {
  const { COLORTERM } = process.env
  return COLORTERM ? { COLORTERM } : {}
}
