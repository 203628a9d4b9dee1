import { permissionsOf } from '@computer/contract'
import type { FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor, Caller, GuestActor } from '../actor.ts'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { readGuestCookie, readSessionCookie } from './cookies.ts'
import { findByKey, findKey, noteUse } from '../domain/accounts/api-keys.ts'
import { isSecret } from '../domain/accounts/api-key-secret.ts'
import {
  asActor,
  findAuthSession,
  findAuthSessionById,
  noteAuthSessionUse,
} from '../domain/accounts/auth-sessions.ts'
import { redeemGatewayToken } from '../domain/accounts/gateway-tokens.ts'
import { isToken } from '../domain/accounts/tokens.ts'
import { findGuest, findGuestOfSession } from '../domain/help/guests.ts'
import { ApiError } from '../errors.ts'
import { requireOrigin } from './origins.ts'
import type { Principal } from './principal-cache.ts'

/** The parts of a call, or of a WebSocket handshake, that authentication needs. */
export type Incoming = Pick<FastifyRequest, 'headers' | 'ip' | 'protocol' | 'host' | 'method'>
type Dependencies = Pick<App, 'db' | 'log' | 'config' | 'principals'>

const maxUserAgentLength = 400

/**
 * Authenticates a call by the API key in `authorization: Bearer`, else by the browser session in its
 * cookie. Calls by cookie may change nothing without an Origin of this service.
 */
export async function authenticate(app: Dependencies, request: Incoming): Promise<Actor> {
  const key = readBearer(request.headers)
  if (key !== null) {
    requireSecret(key)
    const principal = await app.principals.find(key, () => findKeyPrincipal(app, key))
    return { ...principal, ...callerOf(request) }
  }
  const token = readSessionCookie(app.config, request.headers)
  if (token !== null) {
    if (!isRead(request)) requireOrigin(app.config, request)
    requireToken(token)
    const principal = await app.principals.find(token, () => findUserPrincipal(app, request, token))
    return { ...principal, ...callerOf(request) }
  }
  throw new ApiError(
    'unauthenticated',
    'send an API key: authorization: Bearer <key>; or sign in with a browser',
  )
}

/** Redeems a gateway token. The actor is its creator, with the permissions they have now. */
export async function authenticateToken(
  app: Pick<App, 'db'>,
  request: Incoming,
  token: string,
): Promise<Actor> {
  const creator = await redeemGatewayToken(app.db, token)
  const caller = callerOf(request)
  return 'apiKeyId' in creator
    ? { ...principalOf(await findKey(app.db, creator.apiKeyId)), ...caller }
    : asActor(await findAuthSessionById(app.db, creator.authSessionId), caller)
}

/** Authenticates the guest of a help request by the cookie of the browser that spent the takeover link. */
export async function authenticateGuest(
  app: Pick<App, 'db' | 'config'>,
  request: Incoming,
): Promise<GuestActor> {
  const secret = readGuestCookie(app.config, request.headers)
  if (secret === null) throw new ApiError('unauthenticated', 'open a takeover link first')
  if (!isRead(request)) requireOrigin(app.config, request)
  return findGuest(app.db, secret, callerOf(request))
}

/** The guest whose session a handshake names, or null if the browser is not that guest's. */
export async function authenticateGuestOf(
  app: Pick<App, 'db' | 'config'>,
  request: Incoming,
  sessionId: string,
): Promise<GuestActor | null> {
  const secret = readGuestCookie(app.config, request.headers)
  if (secret === null) return null
  requireOrigin(app.config, request)
  return findGuestOfSession(app.db, secret, sessionId, callerOf(request))
}

export function callerOf(request: Pick<Incoming, 'headers' | 'ip'>): Caller {
  return {
    address: request.ip ?? null,
    userAgent: request.headers['user-agent']?.slice(0, maxUserAgentLength) ?? null,
  }
}

/** The credential that `authenticate` would use; empty if there is none. */
export function credentialOf(
  config: Pick<Config, 'baseUrl'>,
  headers: IncomingHttpHeaders,
): string {
  return readBearer(headers) ?? readSessionCookie(config, headers) ?? ''
}

function requireSecret(secret: string): void {
  if (isSecret(secret)) return
  throw new ApiError('unauthenticated', 'this is not an API key; check that it is complete')
}

function requireToken(token: string): void {
  if (isToken('session', token)) return
  throw new ApiError('unauthenticated', 'this is not a valid browser session; sign in again')
}

async function findKeyPrincipal(app: Dependencies, secret: string): Promise<Principal> {
  const key = await findByKey(app.db, secret)
  if (key.should_record_use) {
    // Not awaited: a failure only leaves last_used_at stale.
    noteUse(app.db, key.id).catch((error: unknown) => {
      app.log.warn({ err: error, api_key_id: key.id }, 'could not record the use of an API key')
    })
  }
  return principalOf(key)
}

/**
 * The scopes of a key narrow the current permissions of its creator, so the key loses what its creator
 * loses.
 */
function principalOf(key: Awaited<ReturnType<typeof findKey>>): Principal {
  return {
    organizationId: key.organization_id,
    principal: { type: 'api_key', id: key.id, name: key.name },
    userId: key.created_by,
    authSessionId: null,
    role: key.role,
    scopes: key.scopes,
    permissions: permissionsOf(key.role, key.scopes),
  }
}

async function findUserPrincipal(
  app: Dependencies,
  request: Incoming,
  token: string,
): Promise<Principal> {
  const session = await findAuthSession(app.db, token)
  const actor = asActor(session, callerOf(request))
  if (session.should_record_use) {
    // Not awaited: after a failure the next use records it.
    noteAuthSessionUse(app.db, actor).catch((error: unknown) => {
      app.log.warn(
        { err: error, auth_session_id: session.id },
        'could not record the use of a browser session',
      )
    })
  }
  return actor
}

/** A WebSocket handshake is not a read: it carries input, and any page can open one to any host. */
function isRead({ method, headers }: Incoming): boolean {
  if (headers.upgrade?.toLowerCase() === 'websocket') return false
  return method === 'GET' || method === 'HEAD'
}

function readBearer(headers: IncomingHttpHeaders): string | null {
  return /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
}
