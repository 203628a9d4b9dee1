import { permissionsOf } from '@computer/contract'
import type { FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor, Caller } from '../actor.ts'
import type { App } from '../app.ts'
import { readSessionCookie } from './cookies.ts'
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
import { ApiError } from '../errors.ts'
import { requireOrigin } from './origins.ts'
import type { Principal } from './principal-cache.ts'

/** What a call is judged by. The handshake of a WebSocket has it as well. */
export type Incoming = Pick<FastifyRequest, 'headers' | 'ip' | 'protocol' | 'host' | 'method'>
type Dependencies = Pick<App, 'db' | 'log' | 'config' | 'principals'>

const maxUserAgentLength = 400

/**
 * The actor behind a call: an API key in `authorization: Bearer`, or else a browser session in its
 * cookie, which may change nothing without an Origin of ours.
 */
export async function authenticate(app: Dependencies, request: Incoming): Promise<Actor> {
  const key = readBearer(request.headers)
  if (key !== null) {
    requireSecret(key)
    const principal = await app.principals.find(key, () => findKeyPrincipal(app, key))
    return { ...principal, ...callerOf(request) }
  }
  const token = readSessionCookie(request.headers)
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

/** The actor behind a gateway token, which opens one connection: who made it, as they are now. */
export async function authenticateToken(
  app: Pick<App, 'db'>,
  request: Incoming,
  token: string,
): Promise<Actor> {
  const maker = await redeemGatewayToken(app.db, token)
  const caller = callerOf(request)
  return 'apiKeyId' in maker
    ? { ...principalOf(await findKey(app.db, maker.apiKeyId)), ...caller }
    : asActor(await findAuthSessionById(app.db, maker.authSessionId), caller)
}

export function callerOf(request: Pick<Incoming, 'headers' | 'ip'>): Caller {
  return {
    address: request.ip ?? null,
    userAgent: request.headers['user-agent']?.slice(0, maxUserAgentLength) ?? null,
  }
}

/** The secret that vouches for a call, by the same preference; empty where there is none. */
export function credentialOf(headers: IncomingHttpHeaders): string {
  return readBearer(headers) ?? readSessionCookie(headers) ?? ''
}

function requireSecret(secret: string): void {
  if (isSecret(secret)) return
  throw new ApiError('unauthenticated', 'this is not an API key; was it cut off or mistyped?')
}

function requireToken(token: string): void {
  if (isToken('session', token)) return
  throw new ApiError('unauthenticated', 'this is no browser session; sign in again')
}

async function findKeyPrincipal(app: Dependencies, secret: string): Promise<Principal> {
  const key = await findByKey(app.db, secret)
  if (key.use_is_news) {
    // The answer does not wait for it, and a failure costs nothing but a stale last_used_at.
    noteUse(app.db, key.id).catch((error: unknown) => {
      app.log.warn({ err: error, api_key_id: key.id }, 'the use of a key was not noted')
    })
  }
  return principalOf(key)
}

/**
 * A key's scopes narrow what its creator may do at this moment: one who was demoted or removed takes
 * the key's permissions along.
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
  if (session.use_is_news) {
    // As for a key: the next use notes it if this one cannot.
    noteAuthSessionUse(app.db, actor).catch((error: unknown) => {
      app.log.warn({ err: error, auth_session_id: session.id }, 'a use was not noted')
    })
  }
  return actor
}

/** A WebSocket carries input, and browsers open one to any host: its handshake is no read. */
function isRead({ method, headers }: Incoming): boolean {
  if (headers.upgrade?.toLowerCase() === 'websocket') return false
  return method === 'GET' || method === 'HEAD'
}

function readBearer(headers: IncomingHttpHeaders): string | null {
  return /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
}
