import { ApiError, type ApiKey, type Computer } from '@computer/sdk'
import { connect } from '../../client.ts'
import { readConnection, type ConnectionFlags } from '../../config.ts'

/** Opens a client that may manage keys. No API key may, so the error says who can. */
export async function connectAsPerson(flags: ConnectionFlags): Promise<Computer> {
  const { session, profile } = await readConnection(flags)
  if (session !== null) return connect(flags)
  const source = profile === null ? 'the API key in COMPUTER_API_KEY' : `profile "${profile}"`
  const message = `no API key can create or revoke keys, and ${source} is one; use the profile of a person, made by \`computer login --email EMAIL\`, or \`computer admin key create\` on the host of the server`
  throw new ApiError('permission_denied', message)
}

export function isRevoked({ revokedAt }: ApiKey): boolean {
  return revokedAt !== null
}
