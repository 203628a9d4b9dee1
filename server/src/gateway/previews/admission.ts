import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { exchangePath, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { hashToken, isToken } from '../../domain/accounts/tokens.ts'
import type { CookieCache } from './caches.ts'
import { readCookie } from './headers.ts'

/* Who may see a preview: everybody a public one; a private one who has its secret or its cookie. */

export type Admission = { readonly cookieHash: Buffer | null }

/** For this host alone: a browser takes such a cookie from no other, and no script reads it. */
export const accessCookie = '__Host-computer_preview'
/** Ties a member's way through the service to the browser that set out on it. */
const browserCookie = '__Host-computer_preview_browser'
const browserCookieSeconds = 600

/** Null: not let in. */
export async function admit(
  cookies: CookieCache,
  target: PreviewTarget,
  request: IncomingMessage,
): Promise<Admission | null> {
  if (target.access === 'public') return { cookieHash: null }
  if (secretsOf(request).some((secret) => opens(target, secret))) return { cookieHash: null }
  const cookie = readCookie(request.headersDistinct, accessCookie)
  if (cookie === null || !isToken('preview_cookie', cookie)) return null
  const cookieHash = hashToken(cookie)
  const opened = await cookies.find(cookieHash.toString('hex'))
  return opened === target.id ? { cookieHash } : null
}

/** A person who goes there themselves, and can be sent to show who they are. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  const mode = headers['sec-fetch-mode'] ?? 'navigate'
  return method === 'GET' && mode === 'navigate' && /\btext\/html\b/.test(headers.accept ?? '')
}

/** Where a member is sent, and the cookie by which the link that comes of it knows the browser. */
export function memberRedirect(
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

/** The hash that a member's link is for, of the browser that comes with it. */
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

function opens({ secret_hash: hash }: PreviewTarget, secret: string): boolean {
  return hash !== null && isToken('preview', secret) && timingSafeEqual(hash, hashToken(secret))
}
