import {
  permissionsOf,
  type ApiKeyId,
  type ApiKeyScope,
  type AuthSessionId,
  type MachineId,
  type OrganizationId,
  type Permission,
  type Role,
  type SessionId,
  type UserId,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { hasPermission } from '../accounts/permissions.ts'
import { abandonedAfter } from './sessions.ts'

/*
 * Rechecks what long-lived connections were authorized by. All connections of a process are checked
 * with the same few queries, however many there are.
 */

export type ConnectionAuthorization = {
  readonly actor: Actor
  /** The connection ends with the machine, if it is bound to one. */
  readonly machineId: MachineId | null
  readonly sessionId: SessionId | null
  readonly requires: 'member' | Permission
}

type RevocationReason = 'unauthenticated' | 'permissionDenied' | 'sessionClosed' | 'gone'

/** Reads the database once. The result says for each connection why it must end, or null. */
export async function recheckAuthorization(
  db: Database,
  authorizations: readonly ConnectionAuthorization[],
): Promise<(authorization: ConnectionAuthorization) => RevocationReason | null> {
  const actors = authorizations.map(({ actor }) => actor)
  const [keys, guests, authSessions, roles, openSessions, machines] = await Promise.all([
    readKeys(db, actors.flatMap(keyIdOf)),
    readGuests(
      db,
      actors.flatMap(({ guest }) => guest?.id ?? []),
    ),
    readAuthSessions(db, definite(actors.map(({ authSessionId }) => authSessionId))),
    readRoles(db, unique(actors.map(({ userId }) => userId))),
    readOpenSessions(db, definite(authorizations.map(({ sessionId }) => sessionId))),
    readMachines(db, definite(authorizations.map(({ machineId }) => machineId))),
  ])
  return ({ actor, machineId, sessionId, requires }) => {
    const [keyId] = keyIdOf(actor)
    const scopes = keyId && keys.get(keyId)
    const { authSessionId, guest } = actor
    const isOwnGood = keyId ? scopes : guest || (authSessionId && authSessions.has(authSessionId))
    const isCredentialGood = isOwnGood && (!guest || guests.has(guest.id))
    const role = roles.get(membershipKey(actor.userId, actor.organizationId))
    if (!isCredentialGood) return 'unauthenticated'
    if (!role || !hasPermission({ permissions: permissionsOf(role, scopes) }, requires)) {
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

/** Guests act for somebody else, whose credential must be good as well. */
async function readGuests(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return new Set<string>()
  const rows = await db.selectFrom('help_guests').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
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
  return new Map(rows.map((row) => [membershipKey(row.user_id, row.organization_id), row.role]))
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

function membershipKey(userId: UserId, organizationId: OrganizationId): string {
  return `${userId} ${organizationId}`
}

function definite<T>(values: readonly (T | null)[]): T[] {
  return unique(values.flatMap((value) => (value === null ? [] : [value])))
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}
