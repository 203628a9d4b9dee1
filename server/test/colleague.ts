import { permissionsOf, type MembershipId, type Role } from '@computer/contract'
import type { Actor } from '../src/actor.ts'
import { newId } from '../src/ids.ts'
import type { TestServer } from './harness.ts'

/** Adds a member to the actor's organization, who also has a personal one. */
export async function addColleague(
  server: TestServer,
  { organizationId }: Pick<Actor, 'organizationId'>,
  role: Role,
): Promise<Actor> {
  const actor = await server.user('owner', 'stranger')
  await server.app.db
    .insertInto('memberships')
    .values({
      id: newId('mem'),
      organization_id: organizationId,
      user_id: actor.userId,
      role,
    })
    .execute()
  return { ...actor, organizationId, role, permissions: permissionsOf(role) }
}

/** The actor's membership of the organization they act in. */
export async function membershipOf(server: TestServer, actor: Actor): Promise<MembershipId> {
  const { id } = await server.app.db
    .selectFrom('memberships')
    .select('id')
    .where('organization_id', '=', actor.organizationId)
    .where('user_id', '=', actor.userId)
    .executeTakeFirstOrThrow()
  return id
}

/** The email of a user that the harness created. */
export async function emailOf(server: TestServer, actor: Actor): Promise<string> {
  const { email } = await server.app.db
    .selectFrom('users')
    .select('email')
    .where('id', '=', actor.userId)
    .executeTakeFirstOrThrow()
  return email
}
