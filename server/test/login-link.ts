import type { UserId } from '@computer/contract'
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { createLoginLink } from '../src/domain/operator/login-links.ts'
import type { Browser } from './browser.ts'
import type { Answer, TestServer } from './harness.ts'

/* Sign-in links as tests print, look up and use them. */

const operator = { type: 'operator', id: 'operator', name: 'root' } as const

/** A link as an operator prints it. Without an email: for the owner of the first organization. */
export async function printLink({ app }: Pick<TestServer, 'app'>, email: string | null = null) {
  const link = await createLoginLink(app, operator, email)
  return { ...link, token: new URL(link.url).hash.slice('#token='.length) }
}

export function lookUp(browser: Browser, token: string): Promise<Answer> {
  return browser.call('POST', '/v1/auth/login-link/lookup', { token })
}

export function use(browser: Browser, token: string, account?: object): Promise<Answer> {
  return browser.call('POST', '/v1/auth/login-link', { token, ...(account && { account }) })
}

/** Checks that the answer is the one to a link that does not work (any more). */
export function refusedLink({ status, body }: Answer): void {
  assert.deepEqual([status, body.error.code], [404, 'not_found'])
  assert.match(body.error.message, /computer admin login-link/)
}

/** For `collide`: makes each use of the user's links wait. */
export const holdUser = (id: UserId) => (tx: TestServer['app']['db']) =>
  sql`select from users where id = ${id} for no key update`.execute(tx)

/** The row of a user's link. It fails if there is none. */
export function linkOf({ db }: Pick<TestServer['app'], 'db'>, userId: UserId) {
  return db
    .selectFrom('login_links')
    .select(['token_hash as hash', 'expires_at'])
    .select(sql<number>`extract(epoch from expires_at - created_at)::int`.as('seconds'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
}
