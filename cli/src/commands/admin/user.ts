import { Command, Option } from '@commander-js/extra-typings'
import { runAdmin } from './run.ts'

const jsonFlag = () => new Option('--json', 'print the result as JSON')
const passwordFlag = () =>
  new Option('--password-stdin', 'read the password from standard input instead of generating one')

const create = new Command('create')
  .description('Create an account, even if sign-up is closed.')
  .requiredOption('--email <email>', 'email address to sign in with')
  .option('--name <name>', 'display name (default: the part of the email before the @)')
  .option('--organization <id>', 'also add the account to this organization')
  .addOption(
    new Option('--role <role>', 'role in that organization (default: member)').choices([
      'owner',
      'admin',
      'member',
    ]),
  )
  .addOption(passwordFlag())
  .addOption(jsonFlag())
  .addHelpText('after', '\nWithout --password-stdin a password is generated and shown once.')
  .action(({ email, name, organization, role, passwordStdin, json }, command) => {
    if (role && !organization) command.error("error: option '--role' needs '--organization'")
    runAdmin(
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
  .description('Reset the password of an account and end its browser sessions.')
  .argument('<email>')
  .addOption(passwordFlag())
  .addOption(jsonFlag())
  .addHelpText('after', '\nWithout --password-stdin a password is generated and shown once.')
  .action((email, { passwordStdin, json }) => {
    const isPasswordOnStdin = passwordStdin === true
    runAdmin({ command: 'user reset-password', email, isPasswordOnStdin }, { json })
  })

const disable = new Command('disable')
  .description('Disable an account: end its sessions and refuse its API keys.')
  .argument('<email>')
  .addOption(jsonFlag())
  .action((email, { json }) => runAdmin({ command: 'user disable', email }, { json }))

const enable = new Command('enable')
  .description('Enable a disabled account. Its API keys work again; its sessions stay ended.')
  .argument('<email>')
  .addOption(jsonFlag())
  .action((email, { json }) => runAdmin({ command: 'user enable', email }, { json }))

const list = new Command('list')
  .description('List all accounts and their organizations.')
  .addOption(jsonFlag())
  .action(({ json }) => runAdmin({ command: 'user list' }, { json }))

export const user = new Command('user')
  .description('Manage accounts.')
  .addCommand(create)
  .addCommand(resetPassword)
  .addCommand(disable)
  .addCommand(enable)
  .addCommand(list)
