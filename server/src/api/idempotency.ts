import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { credentialOf } from '../http/authenticate.ts'
import {
  claimKey,
  extendClaim,
  forgetKey,
  releaseClaim,
  storeAnswer,
} from '../domain/idempotency.ts'
import { ApiError, conflict } from '../errors.ts'
import { newId } from '../ids.ts'
import { canonicalJson } from '../json-values.ts'

/*
 * Idempotency keys (wire, Conventions). The first call with a key inserts a row and renews its claim
 * on it while it runs. Its response is stored in the row and replayed for 24 hours. The row contains a
 * ULID from which the call makes the ids of its resources: a call that is repeated after a crash finds
 * what the first one created instead of creating it again.
 *
 * Responses may contain secrets, such as a new API key's. They are encrypted with a key derived from the
 * caller's credential and the idempotency key, neither of which is in the database.
 */

export type WireResponse = { readonly status: number; readonly body: unknown }
export type NewId = <Prefix extends string>(prefix: Prefix) => `${Prefix}_${string}`
export type RunOnce = (
  request: FastifyRequest,
  reply: FastifyReply,
  actor: Actor,
  work: (newId: NewId) => Promise<WireResponse>,
) => Promise<WireResponse>

const heartbeatMs = 5_000

/** Runs the work once for each idempotency key; without a key, runs it. */
export function runOncePerKey(app: Pick<App, 'db' | 'log' | 'config'>): RunOnce {
  return async (request, reply, actor, work) => {
    const key = readKey(request)
    if (key === null) return work(newId)

    const id = digest([actor.organizationId, actor.principal.id, routeOf(request), key])
    const bodyHash = digest([canonicalJson(request.body ?? {})])
    const sealingKey = deriveSealingKey(app, request, key)
    const claim = await claimKey(app.db, id, bodyHash)
    if (claim.sealed) {
      void reply.header('idempotent-replayed', 'true')
      return open(sealingKey, claim.sealed)
    }

    const heartbeat = setInterval(() => {
      extendClaim(app.db, id).catch((error: unknown) =>
        app.log.warn({ err: error }, 'could not renew the claim of an idempotency key; will retry'),
      )
    }, heartbeatMs)
    try {
      const response = await work((prefix) => `${prefix}_${claim.seed}`)
      await storeAnswer(app.db, id, response.status, seal(sealingKey, response))
      return response
    } catch (error) {
      // A refused call created nothing, so a corrected call may use its key. A call that failed
      // otherwise may have created something: its row stays for the next call with this key.
      if (error instanceof ApiError) await forgetKey(app.db, id)
      else await releaseClaim(app.db, id)
      throw error
    } finally {
      clearInterval(heartbeat)
    }
  }
}

function readKey(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 255) return key
  throw new ApiError('invalid_request', 'idempotency-key must have 1 to 255 characters', {
    details: [{ field: 'idempotency-key', message: 'must have 1 to 255 characters' }],
  })
}

function routeOf(request: FastifyRequest): string {
  const path = request.url.split('?')[0]!
  return `${request.method} ${path.startsWith('/v1/') ? path : `/v1${path}`}`
}

function digest(parts: readonly string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function deriveSealingKey(
  { config }: Pick<App, 'config'>,
  request: FastifyRequest,
  key: string,
): Buffer {
  const credential = credentialOf(config, request.headers)
  return Buffer.from(hkdfSync('sha256', credential, key, 'computer idempotency v1', 32))
}

function seal(sealingKey: Buffer, response: WireResponse): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(response), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

function open(sealingKey: Buffer, sealed: Buffer): WireResponse {
  try {
    const cipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.subarray(0, 12))
    cipher.setAuthTag(sealed.subarray(12, 28))
    const text = Buffer.concat([cipher.update(sealed.subarray(28)), cipher.final()])
    return JSON.parse(text.toString('utf8')) as WireResponse
  } catch {
    throw conflict('this idempotency-key was used with a different credential; use a new one')
  }
}
