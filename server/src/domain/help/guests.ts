import {
  permissionsOf,
  type ApiKeyId,
  type HelpRequestId,
  type OrganizationId,
  type Permission,
  type UserId,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor, Caller, GuestActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, HelpRow, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { newUlid } from '../../ids.ts'
import { findKey } from '../accounts/api-keys.ts'
import { createToken, hashToken, isToken } from '../accounts/tokens.ts'
import { createLink } from './links.ts'
import { noteHelp } from './notices.ts'
import { findMember } from './people.ts'
import { lockHelp, publishHelp } from './requests.ts'
import { endHolding, pushEnd } from './holding.ts'

/*
 * The guests of help requests: whoever spent a takeover link. They act for whoever asked for help, with the permission
 * to control machines at most, and lose it with them.
 */

/** Makes a link that ends the earlier ones, and the access of those who came by them. */
export async function createHelpLink(
  app: Pick<App, 'db' | 'changes' | 'config' | 'guests' | 'log'>,
  actor: Actor,
  id: HelpRequestId,
): Promise<{ readonly takeoverUrl: string; readonly expiresAt: Date }> {
  const { help, takeoverUrl } = await app.db.transaction().execute(async (tx) => {
    const locked = await lockHelp(tx, actor, id)
    await noteHelp(tx, locked, 'help.link_created', actor.principal)
    if (locked.taken_by_type === 'guest') {
      await endHolding(tx, locked, 'the guest has lost access to a new takeover link')
    }
    return { help: locked, takeoverUrl: await createLink(app.config, tx, id) }
  })
  publishHelp(app, help)
  await pushEnd(app, help)
  return { takeoverUrl, expiresAt: help.expires_at }
}

/** Spends a link. Returns the secret for the cookie of the browser, and the request. */
export async function redeemHelpLink(
  app: Pick<App, 'db' | 'changes'>,
  token: string,
): Promise<{ readonly secret: string; readonly help: HelpRow }> {
  if (!isToken('help_link', token)) throw unusable()
  const secret = createToken('help_guest')
  const help = await app.db.transaction().execute(async (tx) => {
    const found = await findByLink(tx, token)
    if (!found) throw unusable()
    await tx.deleteFrom('help_links').where('token_hash', '=', hashToken(token)).execute()
    await tx
      .insertInto('help_guests')
      .values({ id: newUlid(), token_hash: hashToken(secret), help_request_id: found.id })
      .execute()
    await noteHelp(tx, found, 'help.link_opened', { type: 'guest', id: found.id, name: 'Guest' })
    return found
  })
  publishHelp(app, help)
  return { secret, help }
}

/** The request is locked before its link, as everywhere: of two who spend one, the second finds none. */
async function findByLink(tx: Tx, token: string): Promise<HelpRow | undefined> {
  const links = (db: Database) =>
    db.selectFrom('help_links').select('help_request_id').where('token_hash', '=', hashToken(token))
  const link = await links(tx).executeTakeFirst()
  if (!link) return undefined
  const help = await tx
    .selectFrom('help_requests')
    .selectAll()
    .where('id', '=', link.help_request_id)
    .where('state', 'in', ['open', 'active'])
    .where('expires_at', '>', sql<Date>`clock_timestamp()`)
    .forUpdate()
    .executeTakeFirst()
  return help && (await links(tx).executeTakeFirst()) ? help : undefined
}

function unusable(): ApiError {
  return new ApiError(
    'not_found',
    'this link was already used, has ended or is incomplete; ask for a new one',
  )
}

/** The guest whose browser has this secret, whose request may have ended. Throws `unauthenticated`. */
export async function findGuest(db: Database, secret: string, caller: Caller): Promise<GuestActor> {
  const found = await findBySecret(db, secret)
  if (!found) throw notAGuest()
  return toActor(db, found, caller)
}

/** The same if the guest has taken the request, with this session. */
export async function findGuestOfSession(
  db: Database,
  secret: string,
  sessionId: string,
  caller: Caller,
): Promise<GuestActor | null> {
  const found = await findBySecret(db, secret)
  if (found?.taken_by_type !== 'guest' || found.session_id !== sessionId) return null
  return toActor(db, found, caller)
}

async function toActor(
  db: Database,
  { guest_id: id, ...help }: NonNullable<Awaited<ReturnType<typeof findBySecret>>>,
  caller: Caller,
): Promise<GuestActor> {
  const { taken_by_type: type, taken_by_name: name } = help
  const isNamed = type === 'guest' && name !== null
  const guest = { id, helpRequestId: help.id, name: isNamed ? name : 'Guest' }
  return { ...(await findRequester(db, help)), ...caller, guest }
}

/** The machine and its organization, as far as a guest may know them. */
export async function describeFor(db: Database, help: HelpRow) {
  const { id, name, organization } = await db
    .selectFrom('machines as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['m.id', 'm.name', 'o.name as organization'])
    .where('m.id', '=', help.machine_id)
    .executeTakeFirstOrThrow()
  return { machine: { id, name }, organizationName: organization }
}

async function findBySecret(db: Database, secret: string) {
  if (!isToken('help_guest', secret)) return undefined
  return db
    .selectFrom('help_guests as g')
    .innerJoin('help_requests as h', 'h.id', 'g.help_request_id')
    .selectAll('h')
    .select('g.id as guest_id')
    .where('g.token_hash', '=', hashToken(secret))
    .executeTakeFirst()
}

/** Throws if whoever asked for help has lost their access. */
async function findRequester(db: Database, help: HelpRow): Promise<Omit<Actor, keyof Caller>> {
  const { requested_by_type: type, requested_by_id: id, organization_id: organizationId } = help
  const { userId, name, role, scopes } =
    type === 'api_key'
      ? await findKeyMember(db, id as ApiKeyId)
      : await getMember(db, organizationId, id as UserId)
  const isAllowed = permissionsOf(role, scopes).has('machines:control')
  return {
    organizationId,
    principal: { type, id, name } as Actor['principal'],
    userId,
    authSessionId: null,
    role,
    scopes,
    permissions: new Set<Permission>(isAllowed ? ['machines:control'] : []),
  }
}

async function findKeyMember(db: Database, id: ApiKeyId) {
  const { name, role, scopes, created_by: userId } = await findKey(db, id)
  return { userId, name, role, scopes }
}

async function getMember(db: Database, organizationId: OrganizationId, userId: UserId) {
  const member = await findMember(db, organizationId, userId)
  if (!member) throw notAGuest()
  return { userId, ...member, scopes: null }
}

function notAGuest(): ApiError {
  return new ApiError(
    'unauthenticated',
    'this browser has no help request that it may open; ask for a new takeover link',
  )
}
