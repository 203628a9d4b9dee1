import type { Principal } from '@computer/sdk'
import { openClient } from '../client.ts'
import { clientCommand } from '../command.ts'
import { readConnection } from '../config.ts'
import { showRecord } from '../output.ts'

export const me = clientCommand('me')
  .description('Show the current server, organization, user or API key, and permissions.')
  .action(async (options) => {
    const connection = await readConnection(options)
    const { baseUrl, profile } = connection
    await using computer = await openClient(connection)
    const lines = {
      server: () => baseUrl,
      profile: () => profile ?? 'none (using COMPUTER_API_KEY)',
      organization: ({ organization }: Principal) => `${organization.name} (${organization.id})`,
      plan: ({ organization }: Principal) => organization.planId,
      user: ({ user }: Principal) => user && `${user.email} (${user.id})`,
      key: ({ apiKey: key }: Principal) => key && `${key.name} (${key.id})`,
      permissions: ({ permissions }: Principal) => permissions.join(' '),
    }
    showRecord(await computer.me(), lines, options)
  })
