import type { HelpRequestId } from '@computer/contract'
import type { Config } from '../../config.ts'
import type { Tx } from '../../db/database.ts'
import { createToken, hashToken } from '../accounts/tokens.ts'

/* Takeover links. Each is spent once, for the cookie of a browser; both end with the request or with the next link. */

/** The token is in the fragment, which browsers send to no server. */
export async function createLink(
  { dashboardUrl }: Pick<Config, 'dashboardUrl'>,
  tx: Tx,
  id: HelpRequestId,
): Promise<string> {
  await deleteAccess(tx, id)
  const token = createToken('help_link')
  await tx
    .insertInto('help_links')
    .values({ token_hash: hashToken(token), help_request_id: id })
    .execute()
  return `${dashboardUrl}/help#${token}`
}

/** Ends every link and every guest of a request. */
export async function deleteAccess(tx: Tx, id: HelpRequestId): Promise<void> {
  await tx.deleteFrom('help_links').where('help_request_id', '=', id).execute()
  await tx.deleteFrom('help_guests').where('help_request_id', '=', id).execute()
}
