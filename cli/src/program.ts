import { Command } from '@commander-js/extra-typings'
import { readFileSync } from 'node:fs'
import { admin } from './commands/admin/admin.ts'
import { doctor } from './commands/doctor.ts'
import { down } from './commands/down.ts'
import { up } from './commands/up.ts'

export function createProgram() {
  return new Command('computer')
    .description('Persistent Linux computers for agents and people.')
    .version(readVersion(), '-v, --version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('(computer --help shows what there is)')
    .enablePositionalOptions()
    .addCommand(up)
    .addCommand(down)
    .addCommand(doctor)
    .addCommand(admin)
    .addHelpText('after', environmentHelp)
}

const environmentHelp = `
Environment of a server:
  COMPUTER_DATA          data folder (default: /var/lib/computer)
  COMPUTER_API_PORT      port of the API (default: 7080)
  COMPUTER_GATEWAY_PORT  port of the gateway (default: 7081)
  COMPUTER_BIND          address that both listen on (default: 127.0.0.1)
  DATABASE_URL           an external Postgres, instead of the embedded one
  ENGINE_URL             an existing Incus server or cluster, instead of a private one,
                         with ENGINE_CERT and ENGINE_KEY`

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
