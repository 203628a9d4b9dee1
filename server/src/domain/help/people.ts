import type { HelpPerson, OrganizationId, UserId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database, HelpRow } from '../../db/database.ts'

/** The person or program that acts on a help request. A guest has the id of the request. */
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

/** A member of the organization who may act. */
export async function findMember(db: Database, organizationId: OrganizationId, userId: UserId) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.name', 'm.role'])
    .where('m.organization_id', '=', organizationId)
    .where('m.user_id', '=', userId)
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst()
}
