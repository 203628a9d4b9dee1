import {
  permissionsOf,
  type AuthSessionId,
  type OrganizationId,
  type UserId,
} from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Caller, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { subnetOf } from './ip-network.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { createToken, hashToken } from './tokens.ts'

/*
 * Browser sessions. A session acts in one of its user's organizations at a time. It ends 30 days after
 * its last use, when it is revoked, or when its user is disabled.
 */

const lifetime = sql`interval '30 days'`

type UsableSession = Awaited<ReturnType<typeof findAuthSession>>

/** Opens a session. Only the hash of its token is stored. */
export async function openAuthSession(
  tx: Tx,
  caller: Caller,
  userId: UserId,
  organizationId: OrganizationId,
): Promise<{ readonly token: string; readonly actor: UserActor }> {
  const token = createToken('session')
  await tx
    .insertInto('auth_sessions')
    .values({
      id: newId('aus'),
      user_id: userId,
      organization_id: organizationId,
      token_hash: hashToken(token),
      expires_at: sql`now() + ${lifetime}`,
      address: caller.address,
      network: caller.address === null ? null : subnetOf(caller.address),
      user_agent: caller.userAgent,
    })
    .execute()
  return { token, actor: asActor(await findAuthSession(tx, token), caller) }
}

/** The session with its user's current role. Throws `unauthenticated` if it cannot be used. */
export function findAuthSession(db: Database, token: string) {
  return findUsable(db, sql`s.token_hash = ${hashToken(token)}`)
}

/** The same by id, for example for the session that a gateway token was created with. */
export function findAuthSessionById(db: Database, id: AuthSessionId) {
  return findUsable(db, sql`s.id = ${id}`)
}

async function findUsable(db: Database, which: RawBuilder<boolean>) {
  const found = await selectUsable(db)
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['u.name', 'm.role'])
    .select(
      sql<boolean>`s.last_used_at < now() - interval '1 minute'
        or s.organization_id <> m.organization_id`.as('should_record_use'),
    )
    .where(which)
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst()
  if (found) return found
  throw new ApiError('unauthenticated', 'the browser session has ended; sign in again')
}

/**
 * Whether a session of the user with this email was opened from the network, even if it has ended. One
 * query, so that the work does not reveal whether there is such a user.
 */
export async function hasSignedInFrom(
  db: Database,
  email: string,
  network: string,
): Promise<boolean> {
  const session = await db
    .selectFrom('auth_sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select('s.id')
    .where('u.email', '=', email)
    .where('s.network', '=', network)
    .limit(1)
    .executeTakeFirst()
  return session !== undefined
}

export function asActor(session: UsableSession, caller: Caller): UserActor {
  return {
    ...caller,
    organizationId: session.organization_id,
    principal: { type: 'user', id: session.user_id, name: session.name },
    userId: session.user_id,
    authSessionId: session.id,
    role: session.role,
    scopes: null,
    permissions: permissionsOf(session.role),
  }
}

/**
 * Records the use of a session and extends it. If its user has left the session's organization, the
 * session moves to the one it acts in now, for good.
 */
export async function noteAuthSessionUse(db: Database, actor: UserActor): Promise<void> {
  const isMember = sql<boolean>`exists (select from memberships as m
    where m.user_id = auth_sessions.user_id and m.organization_id = auth_sessions.organization_id)`
  await db
    .updateTable('auth_sessions')
    .set({
      last_used_at: sql`now()`,
      expires_at: sql`now() + ${lifetime}`,
      address: actor.address,
      user_agent: actor.userAgent,
      organization_id: sql`case when ${isMember} then organization_id
        else ${actor.organizationId} end`,
    })
    .where('id', '=', actor.authSessionId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** The actor's own sessions that are neither revoked nor expired. */
export async function listAuthSessions(db: Database, actor: UserActor, page: PageRequest) {
  const rows = selectUsable(db).where('s.user_id', '=', actor.userId)
  return newestFirst('aus', page, rows, 's.id')
}

/** Revoking again is a no-op. */
export async function revokeAuthSession(
  app: Pick<App, 'db'>,
  actor: UserActor,
  id: AuthSessionId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const session = await tx
      .selectFrom('auth_sessions')
      .select(['user_agent', 'revoked_at'])
      .where('id', '=', id)
      .where('user_id', '=', actor.userId)
      .forUpdate()
      .executeTakeFirst()
    if (!session) throw notFound(`browser session ${id}`)
    if (session.revoked_at) return
    await endAuthSessions(tx, actor.userId, { only: id })
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'auth.session_revoked',
      target: { type: 'auth_session', id, name: session.user_agent ?? 'unknown browser' },
    })
  })
}

/** Ends the actor's current session. */
export async function logout(app: Pick<App, 'db'>, actor: UserActor): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await endAuthSessions(tx, actor.userId, { only: actor.authSessionId })
    await noteAudit(tx, { ...auditedBy(actor), type: 'auth.signed_out' })
  })
}

/** Makes the actor's current session act in another of their organizations. */
export async function switchOrganization(
  app: Pick<App, 'db'>,
  actor: UserActor,
  organizationId: OrganizationId,
): Promise<UserActor> {
  return app.db.transaction().execute(async (tx) => {
    const membership = await tx
      .selectFrom('memberships')
      .select('role')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', actor.userId)
      .executeTakeFirst()
    if (!membership) throw notFound(`organization ${organizationId}`)
    const { role } = membership
    const entered = { ...actor, organizationId, role, permissions: permissionsOf(role) }
    if (organizationId === actor.organizationId) return entered
    await tx
      .updateTable('auth_sessions')
      .set({ organization_id: organizationId })
      .where('id', '=', actor.authSessionId)
      .where('user_id', '=', actor.userId)
      .execute()
    await noteAudit(tx, { ...auditedBy(entered), type: 'organization.entered' })
    return entered
  })
}

/** Ends sessions of a user: one of them, all but one, or all. */
export async function endAuthSessions(
  tx: Tx,
  userId: UserId,
  which: { readonly only?: AuthSessionId; readonly except?: AuthSessionId } = {},
): Promise<void> {
  await tx
    .updateTable('auth_sessions')
    .set({ revoked_at: sql`now()` })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .$if(which.only !== undefined, (query) => query.where('id', '=', which.only!))
    .$if(which.except !== undefined, (query) => query.where('id', '!=', which.except!))
    .execute()
}

/**
 * Sessions that can be used, each with the membership that determines its role: in the session's
 * organization or, if the user has left it, in the one they joined first, their personal one.
 */
function selectUsable(db: Database) {
  return db
    .selectFrom('auth_sessions as s')
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('memberships')
          .select(['memberships.organization_id', 'memberships.role'])
          .whereRef('memberships.user_id', '=', 's.user_id')
          .orderBy(sql`memberships.organization_id = s.organization_id`, 'desc')
          .orderBy('memberships.id')
          .limit(1)
          .as('m'),
      (join) => join.onTrue(),
    )
    .select(['s.id', 's.user_id', 'm.organization_id', 's.created_at', 's.last_used_at'])
    .select(['s.expires_at', 's.address', 's.user_agent'])
    .where('s.revoked_at', 'is', null)
    .where('s.expires_at', '>', sql<Date>`now()`)
}
