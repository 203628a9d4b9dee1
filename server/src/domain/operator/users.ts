import type { AuditEvent, AuditEventType, OrganizationId, Role, UserId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx, UserRow } from '../../db/database.ts'
import { conflict, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { endAuthSessions } from '../accounts/auth-sessions.ts'
import { requireSeat } from '../accounts/invitation-creation.ts'
import { createPersonalOrganization, lockOrganization } from '../accounts/organizations.ts'
import { hashPassword } from '../accounts/passwords.ts'
import {
  findHome,
  findUserByEmail,
  insertUser,
  normalizeEmail,
  setPassword,
} from '../accounts/users.ts'

/*
 * What an operator does to accounts, on the server itself. Whoever may read the database may do all
 * of it, so nothing here asks for a permission; the audit logs of the organizations say who did it.
 */

export type Operator = NonNullable<AuditEvent['actor']> & { readonly type: 'operator' }
type Place = { readonly id: OrganizationId; readonly role: Role }

/** An account with a personal organization. Its first session acts in the other one, if named. */
export async function createUser(
  app: Pick<App, 'db' | 'config'>,
  operator: Operator,
  wish: {
    readonly email: string
    readonly name?: string | undefined
    readonly password: string
    readonly organization: Place | null
  },
): Promise<UserRow> {
  const email = normalizeEmail(wish.email)
  const name = wish.name ?? email.slice(0, email.indexOf('@')).slice(0, 100)
  const passwordHash = await hashPassword(wish.password)
  return app.db.transaction().execute(async (tx) => {
    if (wish.organization) await requirePlace(tx, wish.organization.id)
    const user = await insertUser(tx, { email, name, passwordHash })
    if (!user) throw conflict(`${email} has an account already`)
    if (wish.organization) await addMember(tx, operator, user, wish.organization)
    const organizationId = await createPersonalOrganization(tx, user, app.config.signupPlan)
    await noteAudit(tx, {
      organizationId,
      type: 'auth.signed_up',
      actor: operator,
      address: null,
      target: targetOf(user),
    })
    return user
  })
}

/** Nobody signs in as that user any more; their sessions have ended and their keys are refused. */
export async function disableUser(
  app: Pick<App, 'db'>,
  operator: Operator,
  email: string,
): Promise<UserRow> {
  return app.db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, email)
    if (user.disabled_at) return user
    await endAuthSessions(tx, user.id)
    await noteEverywhere(tx, operator, 'user.disabled', user)
    return setDisabled(tx, user.id, true)
  })
}

/** Their keys work again; they have to sign in anew. */
export async function enableUser(
  app: Pick<App, 'db'>,
  operator: Operator,
  email: string,
): Promise<UserRow> {
  return app.db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, email)
    if (!user.disabled_at) return user
    await noteEverywhere(tx, operator, 'user.enabled', user)
    return setDisabled(tx, user.id, false)
  })
}

/** All their sessions end, and so does the count of failed logins. */
export async function replacePassword(
  app: Pick<App, 'db'>,
  operator: Operator,
  email: string,
  password: string,
): Promise<UserRow> {
  const passwordHash = await hashPassword(password)
  return app.db.transaction().execute(async (tx) => {
    const user = await lockUser(tx, email)
    await setPassword(tx, user, passwordHash)
    await noteAudit(tx, {
      organizationId: await findHome(tx, user.id),
      type: 'auth.password_reset',
      actor: operator,
      address: null,
      target: targetOf(user),
    })
    return user
  })
}

/** Every account with the organizations it belongs to, the oldest first. */
export async function listUsers(db: Database) {
  const memberships = await db
    .selectFrom('memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['m.user_id', 'm.role', 'o.id', 'o.name'])
    .orderBy('m.id')
    .execute()
  const organizations = Map.groupBy(memberships, ({ user_id }) => user_id)
  const users = await db.selectFrom('users').selectAll().orderBy('id').execute()
  return users.map((user) => ({ ...user, organizations: organizations.get(user.id) ?? [] }))
}

async function lockUser(tx: Tx, email: string): Promise<UserRow> {
  const user = await findUserByEmail(tx, normalizeEmail(email))
  if (!user) throw notFound(`user ${email}`)
  return tx
    .selectFrom('users')
    .selectAll()
    .where('id', '=', user.id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

async function setDisabled(tx: Tx, id: UserId, isDisabled: boolean): Promise<UserRow> {
  return tx
    .updateTable('users')
    .set({ disabled_at: isDisabled ? sql`now()` : null })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function requirePlace(tx: Tx, organizationId: OrganizationId): Promise<void> {
  const found = await tx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!found) throw notFound(`organization ${organizationId}`)
  await lockOrganization(tx, { organizationId })
  await requireSeat(tx, { organizationId })
}

async function addMember(tx: Tx, operator: Operator, user: UserRow, place: Place): Promise<void> {
  await tx
    .insertInto('memberships')
    .values({
      id: newId('mem'),
      organization_id: place.id,
      user_id: user.id,
      role: place.role,
    })
    .execute()
  await noteAudit(tx, {
    organizationId: place.id,
    type: 'member.added',
    actor: operator,
    address: null,
    target: targetOf(user),
    message: `as ${place.role}`,
  })
}

/** In the log of each organization that the user belongs to: their keys are in any of them. */
async function noteEverywhere(
  tx: Tx,
  operator: Operator,
  type: AuditEventType,
  user: UserRow,
): Promise<void> {
  const memberships = await tx
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', user.id)
    .orderBy('organization_id')
    .execute()
  for (const { organization_id: organizationId } of memberships) {
    const target = targetOf(user)
    await noteAudit(tx, { organizationId, type, actor: operator, address: null, target })
  }
}

function targetOf(user: UserRow) {
  return { type: 'user', id: user.id, name: user.email }
}
