import { Command, Option } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const jsonFlag = () => new Option('--json', 'print the result as JSON')
const passwordFlag = () =>
  new Option('--password-stdin', 'read the password from standard input instead of making one')

const create = new Command('create')
  .description('Make an account, also where sign-up is closed.')
  .requiredOption('--email <email>', 'what the person signs in with')
  .option('--name <name>', 'how others see the person (default: what stands before the @)')
  .option('--organization <id>', 'make the person a member of this organization too')
  .addOption(
    new Option('--role <role>', 'of the member (default: member)').choices([
      'owner',
      'admin',
      'member',
    ]),
  )
  .addOption(passwordFlag())
  .addOption(jsonFlag())
  .addHelpText('after', '\nWithout --password-stdin a password is made and shown once.')
  .action(async ({ email, name, organization, role, passwordStdin, json }, command) => {
    if (role && !organization) command.error("error: option '--role' needs '--organization'")
    await runAdmin(
      {
        command: 'user create',
        email,
        name,
        organization: organization ? { id: organization, role: role ?? 'member' } : null,
        isPasswordOnStdin: passwordStdin === true,
      },
      { json },
    )
  })

const resetPassword = new Command('reset-password')
  .description('Give an account another password. All its browser sessions end.')
  .argument('<email>')
  .addOption(passwordFlag())
  .addOption(jsonFlag())
  .addHelpText('after', '\nWithout --password-stdin a password is made and shown once.')
  .action(async (email, { passwordStdin, json }) => {
    const isPasswordOnStdin = passwordStdin === true
    await runAdmin({ command: 'user reset-password', email, isPasswordOnStdin }, { json })
  })

const disable = new Command('disable')
  .description('Lock an account out: its sessions end, and its API keys are refused.')
  .argument('<email>')
  .addOption(jsonFlag())
  .action(async (email, { json }) => runAdmin({ command: 'user disable', email }, { json }))

const enable = new Command('enable')
  .description('Let a disabled account in again. Its API keys work again, its sessions do not.')
  .argument('<email>')
  .addOption(jsonFlag())
  .action(async (email, { json }) => runAdmin({ command: 'user enable', email }, { json }))

const list = new Command('list')
  .description('List all accounts and the organizations they belong to.')
  .addOption(jsonFlag())
  .action(async ({ json }) => runAdmin({ command: 'user list' }, { json }))

export const user = new Command('user')
  .description('Manage accounts.')
  .addCommand(create)
  .addCommand(resetPassword)
  .addCommand(disable)
  .addCommand(enable)
  .addCommand(list)
