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

/*
 * Idempotency keys (wire, Conventions). The first call with a key writes a row and keeps it alive
 * while it works; its answer is stored in the row and given again for 24 hours. The row carries a
 * ULID by which the call names whatever it creates, so that a call repeated after a crash finds what
 * the first one made instead of making another.
 *
 * Answers may hold secrets (a new API key's). They are sealed under a key derived from the caller's
 * credential and the idempotency key, neither of which the database has.
 */

export type Answer = { readonly status: number; readonly body: unknown }
export type NewId = <Prefix extends string>(prefix: Prefix) => `${Prefix}_${string}`
export type Once = (
  request: FastifyRequest,
  reply: FastifyReply,
  actor: Actor,
  work: (newId: NewId) => Promise<Answer>,
) => Promise<Answer>

const heartbeatMs = 5_000

/** Runs the work once for each key, or simply runs it where the caller sends none. */
export function onceByKey(app: Pick<App, 'db' | 'log'>): Once {
  return async (request, reply, actor, work) => {
    const key = readKey(request)
    if (key === null) return work(newId)

    const id = digest([actor.organizationId, actor.principal.id, routeOf(request), key])
    const bodyHash = digest([JSON.stringify(request.body ?? {})])
    const sealingKey = deriveSealingKey(request, key)
    const claim = await claimKey(app.db, id, bodyHash)
    if (claim.sealed) {
      void reply.header('idempotent-replayed', 'true')
      return open(sealingKey, claim.sealed)
    }

    const heartbeat = setInterval(() => {
      extendClaim(app.db, id).catch((error: unknown) =>
        app.log.warn({ err: error }, 'heartbeat failed'),
      )
    }, heartbeatMs)
    try {
      const answer = await work((prefix) => `${prefix}_${claim.seed}`)
      await storeAnswer(app.db, id, answer.status, seal(sealingKey, answer))
      return answer
    } catch (error) {
      // A refusal made nothing: the key is free for a corrected call. What broke may have made
      // something, so its row stays and the next call with this key goes on from it.
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

function deriveSealingKey(request: FastifyRequest, key: string): Buffer {
  const credential = credentialOf(request.headers)
  return Buffer.from(hkdfSync('sha256', credential, key, 'computer idempotency v1', 32))
}

function seal(sealingKey: Buffer, answer: Answer): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

function open(sealingKey: Buffer, sealed: Buffer): Answer {
  try {
    const cipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.subarray(0, 12))
    cipher.setAuthTag(sealed.subarray(12, 28))
    const text = Buffer.concat([cipher.update(sealed.subarray(28)), cipher.final()])
    return JSON.parse(text.toString('utf8')) as Answer
  } catch {
    throw conflict('this idempotency-key was used with another credential; use a new one')
  }
}
