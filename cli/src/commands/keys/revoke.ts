import { connect, filtered, one } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'

export const revoke = clientCommand('revoke')
  .description('Revoke an API key for ever.')
  .argument('<key>', 'its id or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const named = filtered(
      computer.apiKeys.list({ limit: 100 }),
      ({ id, name, revokedAt }) => id === ref || (name === ref && revokedAt === null),
    )
    const { id, name } = await one(named, `key ${ref}`, 'keys list')
    await confirm(`Revoke the key "${name}"? What uses it is refused from then on.`, options)
    showDone(`${name} is revoked`, await computer.apiKeys.revoke(id), options)
  })
