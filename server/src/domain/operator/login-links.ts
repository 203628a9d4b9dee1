import type { OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { Database, UserRow } from '../../db/database.ts'
import { conflict, notFound } from '../../errors.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { insertLoginLink } from '../accounts/login-links.ts'
import { findHome, findUserByEmail, normalizeEmail } from '../accounts/users.ts'
import type { Operator } from './users.ts'

export type LoginLink = {
  readonly url: string
  readonly expiresAt: Date
  /** Null: nobody has an account yet, and the link leads to making the first one. */
  readonly account: { readonly email: string; readonly name: string } | null
}

/**
 * Makes a link that signs a user in, once, within ten minutes: the user with the email or, without one, an
 * owner of the first organization. Only this result has its token.
 */
export async function createLoginLink(
  app: Pick<App, 'db'> & { readonly config: Pick<App['config'], 'dashboardUrl'> },
  operator: Operator,
  email: string | null,
): Promise<LoginLink> {
  return app.db.transaction().execute(async (tx) => {
    const { user, organizationId } = await (email === null
      ? getFirstOwner(tx)
      : getUserByEmail(tx, email))
    const { token, expiresAt } = await insertLoginLink(tx, { userId: user.id, organizationId })
    await noteAudit(tx, {
      organizationId,
      type: 'auth.login_link_created',
      actor: operator,
      address: null,
      target: { type: 'user', id: user.id, name: user.email },
    })
    return {
      url: `${app.config.dashboardUrl}/welcome#token=${token}`,
      expiresAt,
      account: user.password_hash === null ? null : { email: user.email, name: user.name },
    }
  })
}

/** Whether the first organization still waits for a person to become its owner. */
export async function isUnclaimed(db: Database): Promise<boolean> {
  const owner = await findFirstOwner(db)
  return owner !== null && owner.user.password_hash === null
}

type Destination = { readonly user: UserRow; readonly organizationId: OrganizationId }

async function getFirstOwner(db: Database): Promise<Destination> {
  const owner = await findFirstOwner(db)
  if (owner) return owner
  throw notFound('enabled owner of the first organization; name a user with --email')
}

/** An owner of the oldest organization: rather a person than the owner that the first start made. */
async function findFirstOwner(db: Database): Promise<Destination | null> {
  const oldest = db
    .selectFrom('organizations')
    .select('id')
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
  const owner = await db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .selectAll('u')
    .select('m.organization_id')
    .where('m.organization_id', '=', oldest)
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .orderBy((eb) => eb('u.password_hash', 'is', null))
    .orderBy('m.id')
    .limit(1)
    .executeTakeFirst()
  return owner ? { user: owner, organizationId: owner.organization_id } : null
}

async function getUserByEmail(db: Database, email: string): Promise<Destination> {
  const user = await findUserByEmail(db, normalizeEmail(email))
  if (!user || user.deleted_at) throw notFound(`user ${email}`)
  if (user.disabled_at) {
    throw conflict(`${email} is disabled; first run: computer admin user enable ${email}`)
  }
  return { user, organizationId: await findHome(db, user.id) }
}
