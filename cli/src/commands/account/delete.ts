import { connect } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm, readHidden } from '../../prompt.ts'
import { requirePerson } from './person.ts'

export const deleteAccount = clientCommand('delete')
  .description('Delete your account, with the organizations that have no other member.')
  .addOption(yesFlag())
  .addHelpText(
    'after',
    `
It takes your password, from the prompt or standard input. Your sessions and API keys stop
working at once. Machines, snapshots and templates of organizations that have no other
member must be deleted first. It cannot be undone.`,
  )
  .action(async (options) => {
    await using computer = await connect(options)
    const { user } = await computer.me()
    const { email } = requirePerson(user)
    await confirm(`Delete the account of ${email}?`, options)
    await computer.auth.deleteAccount({ password: await readHidden(`Password of ${email}`) })
    showDone(`the account of ${email} is deleted`, user, options)
  })
