import { permissionsOf, type MembershipId, type Role } from '@computer/contract'
import type { Actor } from '../src/actor.ts'
import { newId } from '../src/ids.ts'
import type { TestServer } from './harness.ts'

/** One more member of the actor's organization, who also has one of their own. */
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

/** The membership by which somebody belongs to the organization they act in. */
export async function membershipOf(server: TestServer, actor: Actor): Promise<MembershipId> {
  const { id } = await server.app.db
    .selectFrom('memberships')
    .select('id')
    .where('organization_id', '=', actor.organizationId)
    .where('user_id', '=', actor.userId)
    .executeTakeFirstOrThrow()
  return id
}

/** The address of a user that the harness made. */
export async function emailOf(server: TestServer, actor: Actor): Promise<string> {
  const { email } = await server.app.db
    .selectFrom('users')
    .select('email')
    .where('id', '=', actor.userId)
    .executeTakeFirstOrThrow()
  return email
}
