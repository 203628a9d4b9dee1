import type { OrganizationId, UserId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { randomBytes, randomInt } from 'node:crypto'
import { callWith, type Answer, type Call } from './call.ts'

/** A browser on one of the service's own pages: it keeps the cookie and says where it is. */
export type Browser = {
  readonly call: Call
  /** The cookie header it sends, or null while it is signed out. */
  cookie(): string | null
}
export type Person = Browser & {
  readonly id: UserId
  readonly email: string
  readonly password: string
  readonly personalId: OrganizationId
  /** Another browser of the same person, signed in. */
  signInAgain(): Promise<Browser>
}

/** What inject addresses the API as. */
export const ownOrigin = 'http://localhost'
export const goodPassword = 'correct horse battery'

/** An address of its own for each, since sign-ups are counted by it. */
export function openBrowser(
  http: FastifyInstance,
  address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`,
): Browser {
  const send = callWith(http, { origin: ownOrigin, 'user-agent': 'A browser' }, address)
  let cookie: string | null = null
  return {
    cookie: () => cookie,
    async call(method, path, body, headers = {}) {
      const answer = await send(method, path, body, { ...(cookie && { cookie }), ...headers })
      const set = setCookie(answer)
      if (set !== null) cookie = set.includes('Max-Age=0') ? null : set.split(';')[0]!
      return answer
    },
  }
}

/** Somebody who just signed up, in a browser that is signed in. */
export async function signUp(
  http: FastifyInstance,
  wish: { readonly email?: string; readonly name?: string } = {},
): Promise<Person> {
  const email = wish.email ?? `${randomBytes(8).toString('hex')}@example.com`
  const login = { email, password: goodPassword }
  const browser = openBrowser(http)
  const answer = await browser.call('POST', '/v1/auth/signup', {
    ...login,
    ...(wish.name !== undefined && { name: wish.name }),
  })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return {
    ...browser,
    ...login,
    id: answer.body.user.id,
    personalId: answer.body.organization.id,
    async signInAgain() {
      const other = openBrowser(http)
      const { status } = await other.call('POST', '/v1/auth/login', login)
      if (status !== 200) throw new Error(`signing in again answered ${status}`)
      return other
    },
  }
}

export function setCookie({ headers }: Answer): string | null {
  const set = headers['set-cookie']
  if (set === undefined || typeof set === 'string') return set ?? null
  throw new Error('more than one cookie was set')
}
