import { sql } from 'kysely'
import { createHash } from 'node:crypto'
import type { Database } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'

/** The number of attempts per subject and window. Counters are rows, so they survive restarts. */
type Limit = { readonly kind: string; readonly max: number; readonly windowMinutes: number }
type EnforcedLimit = Limit & { readonly refusal: string }

/**
 * Failed logins per email and network, so that a stranger's guesses elsewhere do not keep the owner
 * out. A successful login clears the counter.
 */
export const loginLimit: EnforcedLimit = {
  kind: 'login',
  max: 10,
  windowMinutes: 15,
  refusal: 'too many failed logins with this email from this network',
}
/** Failed logins per email from networks that the account has not signed in from. */
export const unknownNetworksLimit: EnforcedLimit = {
  kind: 'login_unknown_networks',
  max: 100,
  windowMinutes: 60,
  refusal: 'too many failed logins with this email; sign in from where you have before',
}
/** Counted alike and not limited, so that the work does not reveal the networks of an account. */
export const knownNetworksLimit: EnforcedLimit = {
  kind: 'login_known_networks',
  max: Infinity,
  windowMinutes: 60,
  refusal: '',
}
/** Wrong current passwords in a signed-in user's own session. Logins are not affected. */
export const passwordChangeLimit: EnforcedLimit = {
  kind: 'password_change',
  max: 10,
  windowMinutes: 15,
  refusal: 'too many wrong passwords',
}
export const signupLimit: EnforcedLimit = {
  kind: 'signup',
  max: 10,
  windowMinutes: 60,
  refusal: 'too many sign-ups from this address',
}
/** Tokens that are looked up or used. They cannot be guessed; this bounds the work. */
export const loginLinkLimit: EnforcedLimit = {
  kind: 'login_link',
  max: 30,
  windowMinutes: 15,
  refusal: 'too many uses of sign-in links from this address',
}
/** Mails per email. Further mails are silently not sent. */
export const resetMailLimit: Limit = { kind: 'reset_mail', max: 3, windowMinutes: 60 }

/** Counts an attempt before it is made, so that concurrent attempts cannot exceed the limit. */
export async function enforceLimit(
  db: Database,
  limit: EnforcedLimit,
  ...subject: Subject
): Promise<void> {
  const { isAllowed, secondsLeft } = await countAttempt(db, limit, ...subject)
  if (isAllowed) return
  const minutes = Math.ceil(secondsLeft / 60)
  throw new ApiError('rate_limited', `${limit.refusal}; try again in ${minutes} min`, {
    retryAfter: secondsLeft,
  })
}

export async function countAttempt(
  db: Database,
  { kind, max, windowMinutes }: Limit,
  ...subject: Subject
): Promise<{ readonly isAllowed: boolean; readonly secondsLeft: number }> {
  const end = sql<Date>`now() + ${windowMinutes} * interval '1 minute'`
  const isOver = sql<boolean>`attempts.window_ends_at <= now()`
  const { count, seconds_left } = await db
    .insertInto('attempts')
    .values({ key: keyOf(kind, ...subject), count: 1, window_ends_at: end })
    .onConflict((existing) =>
      existing.column('key').doUpdateSet({
        count: sql`case when ${isOver} then 1 else attempts.count + 1 end`,
        window_ends_at: sql`case when ${isOver} then ${end} else attempts.window_ends_at end`,
      }),
    )
    .returning('count')
    .returning(
      sql<number>`ceil(extract(epoch from window_ends_at - now()))::int`.as('seconds_left'),
    )
    .executeTakeFirstOrThrow()
  return { isAllowed: count <= max, secondsLeft: Math.max(1, seconds_left) }
}

export async function clearAttempts(
  db: Database,
  { kind }: Limit,
  ...subject: Subject
): Promise<void> {
  await db
    .deleteFrom('attempts')
    .where('key', '=', keyOf(kind, ...subject))
    .execute()
}

/** Clears the counters of a subject at all places. */
export async function clearAttemptsAnywhere(
  db: Database,
  { kind }: Limit,
  subject: string,
): Promise<void> {
  const prefix = digest(kind, subject)
  await db
    .deleteFrom('attempts')
    .where('key', '>=', Buffer.concat([prefix, Buffer.alloc(digestBytes, 0x00)]))
    .where('key', '<=', Buffer.concat([prefix, Buffer.alloc(digestBytes, 0xff)]))
    .execute()
}

/** The subject that is counted, such as an email, and its place if each place counts by itself. */
type Subject = readonly [subject: string, place?: string]

const digestBytes = 16

function keyOf(kind: string, subject: string, place = ''): Buffer {
  return Buffer.concat([digest(kind, subject), digest(place)])
}

function digest(...parts: readonly string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, digestBytes)
}
