import { ApiKeyScope, permissionsOf, type Permission, type Role } from '@computer/contract'
import type { Random } from '../../../e2e/harness/random.ts'
import { ownOrigin } from '../browser.ts'
import { callWith } from '../call.ts'
import { addColleague, membershipOf } from '../colleague.ts'
import type { TestServer } from '../harness.ts'
import type { Operation } from './document.ts'
import { markUser, openSession, standing, type Place } from './world.ts'

export type Caller = {
  readonly kind: string
  readonly headers: Readonly<Record<string, string>>
  /** Where the caller is at home; null without a valid credential. */
  readonly place: Place | null
  readonly by: 'nobody' | 'key' | 'browser'
  readonly permissions: ReadonlySet<Permission>
  /** A caller by cookie may only read without the Origin of the service. */
  readonly origin?: 'missing' | 'foreign'
  /** The same caller with a session of their own, for calls that change the session or its user. */
  readonly disposable?: () => Promise<Caller>
}

/** Every kind of caller, each with the share of the requests that it sends. */
export async function prepareCallers(
  server: TestServer,
  { home, stranger, random }: { home: Place; stranger: Place; random: Random },
): Promise<readonly (Caller & { readonly weight: number })[]> {
  const nobody = { place: null, by: 'nobody', permissions: new Set<Permission>() } as const
  const key = await newKey(home, 'owner key', ApiKeyScope.options)
  const revoked = await newKey(home, 'revoked key', ApiKeyScope.options)
  await home.call('DELETE', `/v1/api-keys/${revoked.id}`)
  const broken = key.headers['authorization']!.slice(0, -1)
  const anyScopes = () => ApiKeyScope.options.filter(() => random.fraction() < 0.25)
  const strangerKey = await newKey(stranger, 'stranger key', ApiKeyScope.options)
  home.holder = callWith(server.http, key.headers)
  stranger.holder = callWith(server.http, strangerKey.headers)
  const list: (Caller & { readonly weight: number })[] = [
    { kind: 'anonymous', headers: {}, ...nobody, weight: 5 },
    ...[broken, `${broken}!`, 'Bearer', 'Bearer x', 'Basic eDp5', 'Bearer \u00ff'].map(
      (authorization) => ({
        kind: 'malformed',
        headers: { authorization },
        ...nobody,
        weight: 0.5,
      }),
    ),
    { ...nobody, kind: 'revoked key', headers: revoked.headers, weight: 3 },
    { ...key, weight: 18 },
    { ...strangerKey, weight: 8 },
    { ...(await newSession(stranger, 'owner', 'stranger session')), weight: 8 },
  ]
  for (const scope of ApiKeyScope.options) {
    list.push({ ...(await newKey(home, 'single scope', [scope])), weight: 1.2 })
  }
  for (let left = 8; left > 0; left -= 1) {
    list.push({
      ...(await newKey(home, 'few scopes', [random.pick(ApiKeyScope.options), ...anyScopes()])),
      weight: 1.5,
    })
  }
  for (const role of ['owner', 'admin', 'member'] as const) {
    const session = await newSession(home, role, `${role} session`)
    list.push({ ...session, weight: role === 'owner' ? 14 : 9 })
    for (const [origin, value] of [
      ['missing', undefined],
      ['foreign', 'https://evil.example'],
    ] as const) {
      const { cookie } = session.headers as { cookie: string }
      const headers = { cookie, ...(value !== undefined && { origin: value }) }
      list.push({ ...session, kind: `${origin} origin`, headers, origin, weight: 1.5 })
    }
  }
  return list

  async function newKey(place: Place, kind: string, scopes: readonly ApiKeyScope[]) {
    const { id, secret } = await server.apiKey({
      name: `${place.mark} ${kind}`,
      scopes,
      creator: place.owner,
    })
    standing.add(id)
    const headers: Record<string, string> = { authorization: `Bearer ${secret}` }
    return {
      kind,
      id,
      headers,
      place,
      by: 'key',
      permissions: permissionsOf('owner', scopes),
    } as const
  }

  async function newSession(place: Place, role: Role, kind: string): Promise<Caller> {
    const actor = await addColleague(server, place.owner, role)
    await markUser(server, actor, place.mark)
    const { token, actor: session } = await openSession(server, actor)
    for (const id of [session.authSessionId, await membershipOf(server, actor)]) standing.add(id)
    return {
      kind,
      headers: { cookie: `computer_session=${token}`, origin: ownOrigin },
      place,
      by: 'browser',
      permissions: permissionsOf(role),
      disposable: () => newSession(place, role, kind),
    }
  }
}

/** Whether the contract lets the caller succeed. */
export function mayCall(caller: Caller, operation: Operation): boolean {
  const requires = operation['x-requires']
  const isRead = operation.method === 'GET'
  if (requires === 'public') return caller.origin !== 'foreign'
  // None of the callers is a guest.
  if (requires === 'guest') return false
  if (caller.by === 'nobody' || (caller.origin !== undefined && !isRead)) return false
  if (requires === 'member') return true
  return requires === 'user' ? caller.by === 'browser' : caller.permissions.has(requires)
}

/** Operations that change who the caller is, or end the session that they call with. */
export const changesCaller: ReadonlySet<string> = new Set([
  'auth.logout',
  'auth.switchOrganization',
  'auth.changePassword',
  'auth.deleteAccount',
  'auth.revokeSession',
  'organizations.create',
  'organizations.leave',
  'invitations.accept',
])
