import type { OrganizationId, UserId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { randomBytes, randomInt } from 'node:crypto'
import { callWith, type Answer, type Call } from './call.ts'

/** A browser on a page of the service: keeps the cookie and sends the Origin. */
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

/** The origin of the API in calls by inject. */
export const ownOrigin = 'http://localhost'
export const goodPassword = 'correct horse battery'

/** Each browser has its own address by default, because sign-ups are limited by address. */
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
      const set = setCookies(answer)
      if (set.length > 0) {
        const isEnd = set.every((one) => one.includes('Max-Age=0'))
        cookie = isEnd ? null : set.map((one) => one.split(';')[0]).join('; ')
      }
      return answer
    },
  }
}

/** Signs up a new user. */
export async function signUp(
  http: FastifyInstance,
  options: { readonly email?: string; readonly name?: string } = {},
): Promise<Person> {
  const email = options.email ?? `${randomBytes(8).toString('hex')}@example.com`
  const login = { email, password: goodPassword }
  const browser = openBrowser(http)
  const answer = await browser.call('POST', '/v1/auth/signup', {
    ...login,
    ...(options.name !== undefined && { name: options.name }),
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
      if (status !== 200) throw new Error(`signing in again returned ${status}`)
      return other
    },
  }
}

/** The session cookie that a response sets. */
export function setCookie(answer: Answer): string | null {
  return setCookies(answer).find((one) => one.startsWith('computer_session=')) ?? null
}

function setCookies({ headers }: Answer): readonly string[] {
  const set = [headers['set-cookie'] ?? []].flat().map(String)
  const names = set.map((one) => one.split('=')[0]).join(' ')
  if (!/^(computer_session( __Host-computer_session)?)?$/.test(names)) {
    throw new Error(`these cookies were set: ${names}`)
  }
  return set
}
