import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { readFileSync } from 'node:fs'
import { account } from './commands/account/account.ts'
import { activity } from './commands/activity.ts'
import { admin } from './commands/admin/admin.ts'
import { backup, backups, restore } from './commands/backup.ts'
import { billing } from './commands/billing/billing.ts'
import { plan } from './commands/billing/plan.ts'
import { usage } from './commands/billing/usage.ts'
import { budgets } from './commands/budgets/budgets.ts'
import { completion } from './commands/completion/completion.ts'
import { machineNames } from './commands/completion/machine-names.ts'
import { cp } from './commands/cp/cp.ts'
import { doctor } from './commands/doctor.ts'
import { down } from './commands/down.ts'
import { events } from './commands/events.ts'
import { exec } from './commands/exec/exec.ts'
import { helpRequests } from './commands/help-requests/help-requests.ts'
import { hosts } from './commands/hosts.ts'
import { click } from './commands/input/click.ts'
import { key } from './commands/input/key.ts'
import { type } from './commands/input/type.ts'
import { installService } from './commands/install-service.ts'
import { join } from './commands/join.ts'
import { keys } from './commands/keys/keys.ts'
import { login } from './commands/login.ts'
import { logout } from './commands/logout.ts'
import { listMachines } from './commands/machines/list.ts'
import { machines } from './commands/machines/machines.ts'
import { startMachine } from './commands/machines/start.ts'
import { stopMachine } from './commands/machines/stop.ts'
import { mcp } from './commands/mcp.ts'
import { me } from './commands/me.ts'
import { migrate } from './commands/migrate.ts'
import { open } from './commands/open.ts'
import { org } from './commands/org/org.ts'
import { ports } from './commands/ports/ports.ts'
import { kill } from './commands/processes/kill.ts'
import { logs } from './commands/processes/logs.ts'
import { ps } from './commands/processes/ps.ts'
import { profiles } from './commands/profiles.ts'
import { role } from './commands/role.ts'
import { screenshot } from './commands/screenshot.ts'
import { secrets } from './commands/secrets/secrets.ts'
import { shell } from './commands/shell/shell.ts'
import { snapshots } from './commands/snapshots/snapshots.ts'
import { ssh } from './commands/ssh.ts'
import { status } from './commands/status.ts'
import { templates } from './commands/templates/templates.ts'
import { terminals } from './commands/terminals/terminals.ts'
import { uninstall } from './commands/uninstall.ts'
import { up } from './commands/up.ts'
import { view } from './commands/view/view.ts'
import { webhooks } from './commands/webhooks/webhooks.ts'
import { addGlobalOptions } from './global-options.ts'

export function createProgram({
  onCommand,
}: {
  readonly onCommand?: (options: Readonly<Record<string, unknown>>) => void
} = {}) {
  const program = new Command('computer')
    .description('Persistent Linux computers for agents and people.')
    .version(readVersion(), '-v, --version')
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError('(run computer --help for the list of commands)')
    .enablePositionalOptions()
    .commandsGroup('Machines:')
    .addCommand(machines)
    .addCommand(listMachines('ls'))
    .addCommand(startMachine())
    .addCommand(stopMachine())
    .addCommand(events)
    .addCommand(activity)
    .addCommand(snapshots)
    .addCommand(templates)
    .addCommand(ports)
    .addCommand(secrets)
    .addCommand(mcp)
    .commandsGroup('In a machine:')
    .addCommand(shell)
    .addCommand(exec)
    .addCommand(ps)
    .addCommand(logs)
    .addCommand(kill)
    .addCommand(terminals)
    .addCommand(cp)
    .commandsGroup('On its desktop:')
    .addCommand(screenshot)
    .addCommand(view)
    .addCommand(helpRequests)
    .addCommand(open)
    .addCommand(click)
    .addCommand(type)
    .addCommand(key)
    .commandsGroup('Access:')
    .addCommand(login)
    .addCommand(logout)
    .addCommand(profiles)
    .addCommand(me)
    .addCommand(keys)
    .addCommand(org)
    .addCommand(account)
    .commandsGroup('Usage:')
    .addCommand(usage)
    .addCommand(plan)
    .addCommand(billing)
    .addCommand(budgets)
    .addCommand(webhooks)
    .commandsGroup('Server (on its host):')
    .addCommand(up)
    .addCommand(down)
    .addCommand(doctor)
    .addCommand(installService)
    .addCommand(uninstall)
    .addCommand(backup)
    .addCommand(backups)
    .addCommand(restore)
    .addCommand(status)
    .addCommand(hosts)
    .addCommand(join)
    .addCommand(role)
    .addCommand(migrate)
    .addCommand(admin)
    .commandsGroup('Other:')
    .helpCommand('help [command]', 'Show help for a command.')
    .addCommand(completion)
    .addCommand(ssh, { hidden: true })
    .addCommand(machineNames, { hidden: true })
    .addHelpText('after', environmentHelp)
  addGlobalOptions(program)
  program.hook('preAction', (_, command) => onCommand?.(command.opts()))
  applyDefaults(program)
  return program
}

/** Commands do not inherit these settings from their parent. */
function applyDefaults(command: CommandUnknownOpts): void {
  command.exitOverride()
  for (const inner of command.commands) {
    inner.helpOption('-h, --help', 'show this help')
    inner.showHelpAfterError('(add --help for usage)')
    applyDefaults(inner)
  }
}

const environmentHelp = `
Machines are given by ID or name. Exit codes: 1 failed, 2 invalid usage, 3 not signed in,
4 permission denied, 5 not found, 6 conflict or wrong state, 7 quota exceeded,
8 unavailable, 9 timed out; exec and shell exit with the code of the command.

Environment of the client:
  COMPUTER_API_KEY       API key to use instead of a profile of \`computer login\`
  COMPUTER_BASE_URL      URL of the server (default: http://127.0.0.1:7080)
  COMPUTER_PROFILE       profile to use

Environment of the server:
  COMPUTER_DATA          data folder (default: /var/lib/computer)
  COMPUTER_API_PORT      port of the API (default: 7080)
  COMPUTER_GATEWAY_PORT  port of the gateway (default: 7081)
  COMPUTER_PREVIEW_DOMAIN, COMPUTER_PREVIEW_PORT
                         domain and port (default: 7082) of previews; see docs/previews.md
  COMPUTER_BIND          address to listen on (default: 127.0.0.1)
  DATABASE_URL           an external Postgres, instead of the embedded one
  ENGINE_URL             an existing Incus server or cluster, instead of a private one,
                         with ENGINE_CERT and ENGINE_KEY`

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
