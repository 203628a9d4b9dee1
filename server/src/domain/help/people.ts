import type { HelpPerson } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { HelpRow } from '../../db/database.ts'

/** Who acts on a help request. A guest has the id of the request. */
export function personOf({ principal, guest }: Actor): HelpPerson {
  return guest ? { type: 'guest', id: guest.helpRequestId, name: guest.name } : principal
}

/** Whether the caller has the request now. */
export function hasTaken(actor: Actor, row: HelpRow): boolean {
  const { type, id } = personOf(actor)
  return row.state === 'active' && row.taken_by_type === type && row.taken_by_id === id
}

/** Such as `guest "Ada"`. */
export function describeTaker({ taken_by_type: type, taken_by_name: name }: HelpRow): string {
  const kinds = { user: 'user', api_key: 'API key', guest: 'guest' } as const
  return `${kinds[type!]} "${name}"`
}
