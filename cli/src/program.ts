import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { readFileSync } from 'node:fs'
import { admin } from './commands/admin/admin.ts'
import { completion } from './commands/completion/completion.ts'
import { cp } from './commands/cp/cp.ts'
import { doctor } from './commands/doctor.ts'
import { down } from './commands/down.ts'
import { events } from './commands/events.ts'
import { exec } from './commands/exec.ts'
import { keys } from './commands/keys/keys.ts'
import { login } from './commands/login.ts'
import { logout } from './commands/logout.ts'
import { machines } from './commands/machines/machines.ts'
import { mcp } from './commands/mcp.ts'
import { me } from './commands/me.ts'
import { ports } from './commands/ports/ports.ts'
import { profiles } from './commands/profiles/profiles.ts'
import { screenshot } from './commands/screenshot.ts'
import { secrets } from './commands/secrets/secrets.ts'
import { shell } from './commands/shell/shell.ts'
import { snapshots } from './commands/snapshots/snapshots.ts'
import { templates } from './commands/templates/templates.ts'
import { up } from './commands/up.ts'
import { view } from './commands/view/view.ts'

export function createProgram({
  onCommand,
}: {
  readonly onCommand?: (options: Readonly<Record<string, unknown>>) => void
} = {}) {
  const program = new Command('computer')
    .description('Persistent Linux computers for agents and people.')
    .version(readVersion(), '-v, --version')
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError('(computer --help shows what there is)')
    .enablePositionalOptions()
    .commandsGroup('Machines:')
    .addCommand(machines)
    .addCommand(shell)
    .addCommand(exec)
    .addCommand(cp)
    .addCommand(screenshot)
    .addCommand(view)
    .addCommand(events)
    .addCommand(snapshots)
    .addCommand(templates)
    .addCommand(ports)
    .addCommand(secrets)
    .addCommand(mcp)
    .commandsGroup('Access:')
    .addCommand(login)
    .addCommand(logout)
    .addCommand(profiles)
    .addCommand(me)
    .addCommand(keys)
    .commandsGroup('Server, in a checkout of it:')
    .addCommand(up)
    .addCommand(down)
    .addCommand(doctor)
    .addCommand(admin)
    .commandsGroup('Other:')
    .helpCommand('help [command]', 'Show help for a command.')
    .addCommand(completion)
    .addHelpText('after', environmentHelp)
  program.hook('preAction', (_, command) => onCommand?.(command.opts()))
  settleEach(program)
  return program
}

/** Commands inherit no settings from the program that they are added to. */
function settleEach(command: CommandUnknownOpts): void {
  command.exitOverride()
  for (const inner of command.commands) {
    inner.helpOption('-h, --help', 'show this help')
    inner.showHelpAfterError('(add --help to see how it is used)')
    settleEach(inner)
  }
}

const environmentHelp = `
A machine is named by its id or its name. Exit codes: 1 failed, 2 wrong usage, 3 not signed
in, 4 not permitted, 5 not found, 6 conflict or wrong state, 7 quota, 8 unavailable, 9 timed
out; those of exec and shell are the command's own.

Environment of a client:
  COMPUTER_API_KEY       the key, in place of the profiles of \`computer login\`
  COMPUTER_BASE_URL      address of the server (default: http://127.0.0.1:7080)
  COMPUTER_PROFILE       the profile to use

Environment of a server:
  COMPUTER_DATA          data folder (default: /var/lib/computer)
  COMPUTER_API_PORT      port of the API (default: 7080)
  COMPUTER_GATEWAY_PORT  port of the gateway (default: 7081)
  COMPUTER_PREVIEW_DOMAIN, COMPUTER_PREVIEW_PORT
                         domain and port (default: 7082) of previews; see docs/previews.md
  COMPUTER_BIND          address that both listen on (default: 127.0.0.1)
  DATABASE_URL           an external Postgres, instead of the embedded one
  ENGINE_URL             an existing Incus server or cluster, instead of a private one,
                         with ENGINE_CERT and ENGINE_KEY`

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
