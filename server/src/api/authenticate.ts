import { rolePermissions, scopePermissions, type Permission } from '@computer/contract'
import type { FastifyRequest } from 'fastify'
import type { Actor, Caller } from '../actor.ts'
import type { App } from '../app.ts'
import { findByKey, noteUse } from '../domain/api-keys.ts'
import { isSecret } from '../domain/api-key-secret.ts'
import { ApiError } from '../errors.ts'

/**
 * The actor behind `authorization: Bearer`. A key's scopes narrow what its creator may do at this
 * moment: one who was demoted or removed takes the key's permissions along.
 */
export async function authenticate(
  app: Pick<App, 'db' | 'log'>,
  request: FastifyRequest,
): Promise<Actor> {
  const secret = /^bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (!secret) {
    throw new ApiError('unauthenticated', 'send an API key: authorization: Bearer <key>')
  }
  if (!isSecret(secret)) {
    throw new ApiError('unauthenticated', 'this is not an API key; was it cut off or mistyped?')
  }
  const key = await findByKey(app.db, secret)
  if (key.use_is_news) {
    // The answer does not wait for it, and a failure costs nothing but a stale last_used_at.
    noteUse(app.db, key.id).catch((error: unknown) => {
      app.log.warn({ err: error, api_key_id: key.id }, 'the use of a key was not noted')
    })
  }
  const granted = new Set<Permission>(key.scopes.flatMap((scope) => scopePermissions[scope]))
  return {
    ...callerOf(request),
    organizationId: key.organization_id,
    principal: { type: 'api_key', id: key.id, name: key.name },
    userId: key.created_by,
    authSessionId: null,
    role: key.role,
    scopes: key.scopes,
    permissions: new Set(rolePermissions[key.role].filter((one) => granted.has(one))),
  }
}

export function callerOf(request: FastifyRequest): Caller {
  return { address: request.ip, userAgent: request.headers['user-agent'] ?? null }
}
