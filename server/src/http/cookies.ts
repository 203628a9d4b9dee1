import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config.ts'

const name = 'computer_session'
/** The browsers' maximum. The server ends the session earlier. */
const maxAgeSeconds = 400 * 24 * 3600

/**
 * The browser's session token. Null if there are two different ones, because another site of the same
 * domain may have planted one of them.
 */
export function readSessionCookie({ cookie = '' }: IncomingHttpHeaders): string | null {
  const values = new Set<string>()
  for (const pair of cookie.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    values.add(unquote(pair.slice(equals + 1).trim()))
  }
  const [value] = values
  return values.size === 1 && value ? value : null
}

/** Restricted to this host, hidden from scripts, and not sent with forms of other sites. */
export function sessionCookie(config: Pick<Config, 'baseUrl'>, token: string): string {
  return cookie(config, token, maxAgeSeconds)
}

export function expiredSessionCookie(config: Pick<Config, 'baseUrl'>): string {
  return cookie(config, '', 0)
}

function cookie({ baseUrl }: Pick<Config, 'baseUrl'>, value: string, maxAge: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value
}
