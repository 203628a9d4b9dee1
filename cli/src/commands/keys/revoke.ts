import type { ApiKey, Computer } from '@computer/sdk'
import { filtered, requireOne } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'
import { connectAsPerson, isRevoked } from './manage.ts'

export const revoke = clientCommand('revoke')
  .description('Revoke an API key, which stops working within a second.')
  .argument('<key>', 'ID or name of the key')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connectAsPerson(options)
    const { id, name } = await findKey(computer, ref)
    await confirm(`Revoke the key ${name}?`, options)
    const revoked = await computer.apiKeys.revoke(id)
    showDone(`${name} (${id}) is revoked`, revoked, options)
  })

async function findKey({ apiKeys }: Computer, ref: string): Promise<ApiKey> {
  const isMeant = (key: ApiKey) => key.id === ref || (key.name === ref && !isRevoked(key))
  const found = filtered(apiKeys.list({ limit: 100 }), isMeant)
  return requireOne(found, `key "${ref}"`, 'keys list')
}
