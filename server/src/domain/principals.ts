import type { Principal } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'

/** Who is calling, in the words of GET /v1/auth/me. A key speaks for no user of its own. */
export async function describePrincipal(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
): Promise<Principal> {
  const organizations = await app.db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.name', 'o.plan_id', 'm.role'])
    .where('m.user_id', '=', actor.userId)
    .orderBy('o.id')
    .execute()
  const active = organizations.find(({ id }) => id === actor.organizationId)!
  const { principal } = actor
  const isUser = principal.type === 'user'
  return {
    user: isUser ? await getUser(app, actor) : null,
    api_key:
      principal.type === 'api_key'
        ? { id: principal.id, name: principal.name, scopes: [...(actor.scopes ?? [])] }
        : null,
    organization: { id: active.id, name: active.name, plan_id: active.plan_id },
    role: isUser ? actor.role : null,
    permissions: [...actor.permissions],
    // A key belongs to one organization, whatever others its creator is in.
    organizations: (isUser ? organizations : [active]).map(({ id, name, role }) => ({
      id,
      name,
      role,
    })),
    gateway_url: app.config.gatewayUrl,
  }
}

async function getUser(app: Pick<App, 'db'>, actor: Actor) {
  return app.db
    .selectFrom('users')
    .select(['id', 'email', 'name'])
    .where('id', '=', actor.userId)
    .executeTakeFirstOrThrow()
}
