import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config.ts'

/*
 * The browser's session is in the cookie that the specification names, and the guest of a help request has one too. Another site of the same domain,
 * such as a preview, may plant a cookie of that name, and so make a browser act in a stranger's session.
 * On https a second cookie holds the same token, under a name that browsers accept from this very host
 * alone. Requests that browsers mark as theirs are authenticated by that one only.
 */

/** The browsers' maximum. The server ends the session earlier. */
const session = { name: 'computer_session', maxAgeSeconds: 400 * 24 * 3600 }
/** No help request lasts longer. */
const guest = { name: 'computer_guest', maxAgeSeconds: 24 * 3600 }
type Kind = typeof session

type SiteConfig = Pick<Config, 'baseUrl'>

/** The browser's session token. */
export function readSessionCookie(config: SiteConfig, headers: IncomingHttpHeaders): string | null {
  return readOwn(config, headers, session)
}

/** The secret of the guest of a help request. */
export function readGuestCookie(config: SiteConfig, headers: IncomingHttpHeaders): string | null {
  return readOwn(config, headers, guest)
}

/** Restricted to this host, hidden from scripts, and not sent with forms of other sites. */
export function sessionCookies(config: SiteConfig, token: string): string[] {
  return cookies(config, session, token)
}

export function guestCookies(config: SiteConfig, secret: string): string[] {
  return cookies(config, guest, secret)
}

export function expiredSessionCookies(config: SiteConfig): string[] {
  return cookies(config, { ...session, maxAgeSeconds: 0 }, '')
}

function readOwn(config: SiteConfig, headers: IncomingHttpHeaders, { name }: Kind): string | null {
  if (!isSecure(config)) return readCookie(headers, name)
  const own = readCookie(headers, hostNameOf(name))
  if (own !== null || isFromBrowser(headers)) return own
  return readCookie(headers, name)
}

/** Browsers send it to https, and no page can remove it. Programs have no cookies of other sites. */
function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-site'] !== undefined
}

/** Null if there are two different ones, because one of them may be planted. */
function readCookie({ cookie = '' }: IncomingHttpHeaders, wanted: string): string | null {
  const values = new Set<string>()
  for (const pair of cookie.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== wanted) continue
    values.add(unquote(pair.slice(equals + 1).trim()))
  }
  const [value] = values
  return values.size === 1 && value ? value : null
}

function cookies(config: SiteConfig, { name, maxAgeSeconds }: Kind, value: string): string[] {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax`
  if (!isSecure(config)) return [`${name}=${value}; ${attributes}`]
  return [name, hostNameOf(name)].map((one) => `${one}=${value}; ${attributes}; Secure`)
}

function hostNameOf(name: string): string {
  return `__Host-${name}`
}

function isSecure({ baseUrl }: SiteConfig): boolean {
  return baseUrl.startsWith('https:')
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value
}
