import type { Principal } from '@computer/sdk'
import { openClient } from '../client.ts'
import { clientCommand } from '../command.ts'
import { readConnection } from '../config.ts'
import { showRecord } from '../output.ts'

export const me = clientCommand('me')
  .description('Show the current server, organization, API key and its permissions.')
  .action(async (options) => {
    const { apiKey, baseUrl, profile } = await readConnection(options.profile)
    await using computer = await openClient(apiKey, baseUrl)
    const lines = {
      server: () => baseUrl,
      profile: () => profile ?? 'none (using COMPUTER_API_KEY)',
      organization: ({ organization }: Principal) => `${organization.name} (${organization.id})`,
      plan: ({ organization }: Principal) => organization.planId,
      key: ({ apiKey: key }: Principal) => key && `${key.name} (${key.id})`,
      permissions: ({ permissions }: Principal) => permissions.join(' '),
    }
    showRecord(await computer.me(), lines, options)
  })
