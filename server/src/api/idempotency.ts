import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { ApiError, conflict } from '../errors.ts'
import { newUlid } from '../ids.ts'

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

const keptFor = sql`interval '24 hours'`
const heartbeatMs = 5_000
const aliveFor = sql`interval '20 seconds'`

/** Runs the work once for each key, or simply runs it where the caller sends none. */
export function onceByKey(app: Pick<App, 'db' | 'log'>): Once {
  return async (request, reply, actor, work) => {
    const key = readKey(request)
    if (key === null) return work((prefix) => `${prefix}_${newUlid()}`)

    const id = digest([actor.organizationId, actor.principal.id, routeOf(request), key])
    const bodyHash = digest([JSON.stringify(request.body ?? {})])
    const sealingKey = deriveSealingKey(request, key)
    const claim = await claimKey(app, id, bodyHash)
    if (claim.sealed) {
      void reply.header('idempotent-replayed', 'true')
      return open(sealingKey, claim.sealed)
    }

    const heartbeat = setInterval(() => {
      extend(app, id).catch((error: unknown) => app.log.warn({ err: error }, 'heartbeat failed'))
    }, heartbeatMs)
    try {
      const answer = await work((prefix) => `${prefix}_${claim.seed}`)
      await app.db
        .updateTable('idempotency_keys')
        .set({ status: answer.status, sealed_response: seal(sealingKey, answer) })
        .where('id', '=', id)
        .execute()
      return answer
    } catch (error) {
      // A refusal made nothing: the key is free for a corrected call. What broke may have made
      // something, so its row stays and the next call with this key goes on from it.
      if (error instanceof ApiError) await forget(app, id)
      else await release(app, id)
      throw error
    } finally {
      clearInterval(heartbeat)
    }
  }
}

type Claim = { readonly seed: string; readonly sealed: Buffer | null }

async function claimKey(app: Pick<App, 'db'>, id: Buffer, bodyHash: Buffer): Promise<Claim> {
  await app.db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - ${keptFor}`)
    .where('id', '=', id)
    .execute()
  const running = sql<Date>`clock_timestamp() + ${aliveFor}`
  const seed = newUlid()
  const mine = await app.db
    .insertInto('idempotency_keys')
    .values({ id, body_hash: bodyHash, seed, running_until: running } as never)
    .onConflict((existing) =>
      existing
        .column('id')
        .doUpdateSet({ running_until: running })
        .where('idempotency_keys.status', 'is', null)
        .where('idempotency_keys.running_until', '<', sql<Date>`clock_timestamp()`)
        .where('idempotency_keys.body_hash', '=', bodyHash),
    )
    .returning('seed')
    .executeTakeFirst()
  if (mine) return { seed: mine.seed, sealed: null }

  const other = await app.db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (other && !other.body_hash.equals(bodyHash)) {
    throw conflict('this idempotency-key was used with a different body; use a new one')
  }
  if (other?.sealed_response) return { seed: other.seed, sealed: other.sealed_response }
  throw new ApiError('conflict', 'the first call with this idempotency-key is still running', {
    retryAfter: 1,
  })
}

async function extend(app: Pick<App, 'db'>, id: Buffer): Promise<void> {
  await app.db
    .updateTable('idempotency_keys')
    .set({ running_until: sql`clock_timestamp() + ${aliveFor}` })
    .where('id', '=', id)
    .execute()
}

async function release(app: Pick<App, 'db'>, id: Buffer): Promise<void> {
  await app.db
    .updateTable('idempotency_keys')
    .set({ running_until: sql`clock_timestamp()` })
    .where('id', '=', id)
    .execute()
}

async function forget(app: Pick<App, 'db'>, id: Buffer): Promise<void> {
  await app.db.deleteFrom('idempotency_keys').where('id', '=', id).execute()
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
  const credential = request.headers.authorization ?? request.headers.cookie ?? ''
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
