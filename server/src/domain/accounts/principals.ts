import type { Principal } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'

/** The response of GET /v1/auth/me. An API key is not its creator, so its `user` is null. */
export async function describePrincipal(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
): Promise<Principal> {
  const organizations = await app.db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.name', 'm.role'])
    .where('m.user_id', '=', actor.userId)
    .orderBy('o.id')
    .execute()
  // Not taken from the list above: a cached actor may outlive its membership for a moment.
  const active = await app.db
    .selectFrom('organizations as o')
    .innerJoin('billing_periods as b', 'b.organization_id', 'o.id')
    .select(['o.id', 'o.name', 'b.plan_id'])
    .where('o.id', '=', actor.organizationId)
    .where('b.status', '=', 'open')
    .executeTakeFirstOrThrow()
  const { principal } = actor
  const isUser = principal.type === 'user'
  return {
    user: isUser ? await getUser(app, actor) : null,
    api_key:
      principal.type === 'api_key'
        ? { id: principal.id, name: principal.name, scopes: [...(actor.scopes ?? [])] }
        : null,
    organization: active,
    role: isUser ? actor.role : null,
    permissions: [...actor.permissions],
    // A key belongs to one organization, even if its creator is a member of others.
    organizations: isUser
      ? organizations
      : [{ id: active.id, name: active.name, role: actor.role }],
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
