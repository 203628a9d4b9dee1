import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { exchangePath, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { hashToken, isToken } from '../../domain/accounts/tokens.ts'
import type { CookieCache } from './caches.ts'
import { readCookie } from './headers.ts'

/* Access to previews: public ones are open, private ones need their secret or their cookie. */

export type Admission = { readonly cookieHash: Buffer | null }

/** The prefix makes browsers accept the cookie from this host alone. */
export const accessCookie = '__Host-computer_preview'
/** Binds a member's sign-in redirect to the browser that started it. Setting a new password may take a while. */
const browserCookie = '__Host-computer_preview_browser'
const browserCookieSeconds = 3600

/** Null: access denied. */
export async function admit(
  cookies: CookieCache,
  target: PreviewTarget,
  request: IncomingMessage,
): Promise<Admission | null> {
  if (target.access === 'public') return { cookieHash: null }
  if (secretsOf(request).some((secret) => matchesSecret(target, secret)))
    return { cookieHash: null }
  const cookie = readCookie(request.headersDistinct, accessCookie)
  if (cookie === null || !isToken('preview_cookie', cookie)) return null
  const cookieHash = hashToken(cookie)
  const opens = await cookies.find(cookieHash)
  return opens === target.id ? { cookieHash } : null
}

/** A person navigating in a browser, who can be redirected to sign in. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  const mode = headers['sec-fetch-mode'] ?? 'navigate'
  return method === 'GET' && mode === 'navigate' && /\btext\/html\b/.test(headers.accept ?? '')
}

/** Redirects a member to sign in. The link they get works only in the browser with this cookie. */
export function signInRedirect(
  baseUrl: string,
  { label }: PreviewTarget,
  request: IncomingMessage,
) {
  const known = readBrowser(request)
  const browser = known ?? randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    preview: label,
    browser: hashToken(browser).toString('base64url'),
    path: (request.url ?? '/').slice(0, 4096),
  })
  return {
    location: `${baseUrl.replace(/\/+$/, '')}${exchangePath}?${query.toString()}`,
    cookie: hostCookie(browserCookie, browser, browserCookieSeconds),
  }
}

/** Members' links are bound to this hash. */
export function browserHashOf(request: IncomingMessage): Buffer | null {
  const browser = readBrowser(request)
  return browser === null ? null : hashToken(browser)
}

export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`
}

function readBrowser(request: IncomingMessage): string | null {
  const browser = readCookie(request.headersDistinct, browserCookie)
  return browser !== null && /^[\w-]{43}$/.test(browser) ? browser : null
}

function secretsOf({ headersDistinct: headers }: IncomingMessage): string[] {
  const bearers = (headers['authorization'] ?? []).flatMap(
    (value) => /^bearer\s+(\S+)$/i.exec(value)?.[1] ?? [],
  )
  return [...bearers, ...(headers['x-preview-secret'] ?? [])]
}

function matchesSecret({ secret_hash: hash }: PreviewTarget, secret: string): boolean {
  return hash !== null && isToken('preview', secret) && timingSafeEqual(hash, hashToken(secret))
}
