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
 * Changes to accounts by an operator on the server itself. Access to the database already allows all of
 * them, so there is no permission check; the audit logs of the organizations record who did it.
 */

export type Operator = NonNullable<AuditEvent['actor']> & { readonly type: 'operator' }
type OrgMembership = { readonly id: OrganizationId; readonly role: Role }

/** Makes an account with a personal organization. Its first session acts in `organization`, if given. */
export async function createUser(
  app: Pick<App, 'db' | 'config'>,
  operator: Operator,
  input: {
    readonly email: string
    readonly name?: string | undefined
    readonly password: string
    readonly organization: OrgMembership | null
  },
): Promise<UserRow> {
  const email = normalizeEmail(input.email)
  const name = input.name ?? email.slice(0, email.indexOf('@')).slice(0, 100)
  const passwordHash = await hashPassword(input.password)
  return app.db.transaction().execute(async (tx) => {
    if (input.organization) await requireOrganization(tx, input.organization.id)
    const user = await insertUser(tx, { email, name, passwordHash })
    if (!user) throw conflict(`${email} has an account already`)
    if (input.organization) await addMember(tx, operator, user, input.organization)
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

/** Ends the user's sessions, and refuses their sign-ins and API keys from now on. */
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

/** The user's API keys work again. Sessions stay ended. */
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

/** Ends all sessions of the user, and resets the count of failed logins. */
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
  const users = await db
    .selectFrom('users')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  return users.map((user) => ({ ...user, organizations: organizations.get(user.id) ?? [] }))
}

async function lockUser(tx: Tx, email: string): Promise<UserRow> {
  const user = await findUserByEmail(tx, normalizeEmail(email))
  if (!user || user.deleted_at) throw notFound(`user ${email}`)
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

async function requireOrganization(tx: Tx, organizationId: OrganizationId): Promise<void> {
  const found = await tx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!found) throw notFound(`organization ${organizationId}`)
  await lockOrganization(tx, { organizationId })
  await requireSeat(tx, { organizationId })
}

async function addMember(
  tx: Tx,
  operator: Operator,
  user: UserRow,
  membership: OrgMembership,
): Promise<void> {
  await tx
    .insertInto('memberships')
    .values({
      id: newId('mem'),
      organization_id: membership.id,
      user_id: user.id,
      role: membership.role,
    })
    .execute()
  await noteAudit(tx, {
    organizationId: membership.id,
    type: 'member.added',
    actor: operator,
    address: null,
    target: targetOf(user),
    message: `as ${membership.role}`,
  })
}

/** Writes to the log of every organization of the user, because each may have API keys of theirs. */
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
