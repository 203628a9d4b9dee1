import {
  permissionsOf,
  type ApiKeyId,
  type ApiKeyScope,
  type AuthSessionId,
  type MachineId,
  type OrganizationId,
  type Role,
  type SessionId,
  type UserId,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { abandonedAfter } from './sessions.ts'

/*
 * Whether what long-lived connections stand on still holds. Asked for all connections of a process at
 * once, so that a thousand sockets cost no more queries than one.
 */

/** What a connection was opened by and for. */
export type ConnectionAuthorization = {
  readonly actor: Actor
  readonly machineId: MachineId | null
  readonly sessionId: SessionId | null
  /** It does what needs machines:control. */
  readonly controls: boolean
}

/** What is gone, if anything is: the credential, the right, the session or the machine. */
export type RevocationReason = 'unauthenticated' | 'permissionDenied' | 'sessionClosed' | 'gone'

/** A judge of authorizations, from one look at the database. */
export async function readRevocations(
  db: Database,
  authorizations: readonly ConnectionAuthorization[],
): Promise<(authorization: ConnectionAuthorization) => RevocationReason | null> {
  const actors = authorizations.map(({ actor }) => actor)
  const [keys, authSessions, roles, openSessions, machines] = await Promise.all([
    readKeys(db, actors.flatMap(keyIdOf)),
    readAuthSessions(db, definite(actors.map(({ authSessionId }) => authSessionId))),
    readRoles(db, unique(actors.map(({ userId }) => userId))),
    readOpenSessions(db, definite(authorizations.map(({ sessionId }) => sessionId))),
    readMachines(db, definite(authorizations.map(({ machineId }) => machineId))),
  ])
  return ({ actor, machineId, sessionId, controls }) => {
    const [keyId] = keyIdOf(actor)
    const scopes = keyId && keys.get(keyId)
    const { authSessionId } = actor
    const isCredentialGood = keyId ? scopes : authSessionId && authSessions.has(authSessionId)
    const role = roles.get(placeOf(actor.userId, actor.organizationId))
    if (!isCredentialGood) return 'unauthenticated'
    if (!role || (controls && !permissionsOf(role, scopes).has('machines:control'))) {
      return 'permissionDenied'
    }
    if (machineId && !machines.has(machineId)) return 'gone'
    return sessionId && !openSessions.has(sessionId) ? 'sessionClosed' : null
  }
}

async function readKeys(db: Database, ids: readonly ApiKeyId[]) {
  if (ids.length === 0) return new Map<ApiKeyId, ApiKeyScope[]>()
  const rows = await db
    .selectFrom('api_keys as k')
    .innerJoin('users as u', 'u.id', 'k.created_by')
    .select(['k.id', 'k.scopes'])
    .where('k.id', 'in', ids)
    .where('k.revoked_at', 'is', null)
    .where('u.disabled_at', 'is', null)
    .where(sql<boolean>`(k.expires_at is null or k.expires_at > now())`)
    .execute()
  return new Map(rows.map(({ id, scopes }) => [id, scopes]))
}

async function readAuthSessions(db: Database, ids: readonly AuthSessionId[]) {
  if (ids.length === 0) return new Set<AuthSessionId>()
  const rows = await db
    .selectFrom('auth_sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select('s.id')
    .where('s.id', 'in', ids)
    .where('s.revoked_at', 'is', null)
    .where('u.disabled_at', 'is', null)
    .where('s.expires_at', '>', sql<Date>`now()`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

async function readRoles(db: Database, ids: readonly UserId[]) {
  if (ids.length === 0) return new Map<string, Role>()
  const rows = await db
    .selectFrom('memberships')
    .select(['user_id', 'organization_id', 'role'])
    .where('user_id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [placeOf(row.user_id, row.organization_id), row.role]))
}

async function readOpenSessions(db: Database, ids: readonly SessionId[]) {
  if (ids.length === 0) return new Set<SessionId>()
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('closed_at', 'is', null)
    .where('last_active_at', '>', sql<Date>`now() - ${abandonedAfter}`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

async function readMachines(db: Database, ids: readonly MachineId[]) {
  if (ids.length === 0) return new Set<MachineId>()
  const rows = await db
    .selectFrom('machines')
    .select('id')
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

function keyIdOf({ principal }: Actor): ApiKeyId[] {
  return principal.type === 'api_key' ? [principal.id] : []
}

function placeOf(userId: UserId, organizationId: OrganizationId): string {
  return `${userId} ${organizationId}`
}

function definite<T>(values: readonly (T | null)[]): T[] {
  return unique(values.flatMap((value) => (value === null ? [] : [value])))
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}
