import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'
import { cookieLifetimeSeconds, redeemLink } from '../../domain/previews/credentials.ts'
import { accessPath, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { isToken } from '../../domain/accounts/tokens.ts'
import { accessCookie, admit, browserHashOf, hostCookie } from './admission.ts'
import type { CookieCache } from './caches.ts'
import { sendNotFound, sendPage, sendRedirect } from './pages.ts'

/**
 * Serves the reserved paths of a preview's host. An access link is exchanged once for the cookie of
 * this host, and redirects to the path without the token.
 */
export async function answerReserved(
  app: Pick<App, 'db'>,
  cookies: CookieCache,
  target: PreviewTarget,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const [path, search = ''] = (request.url ?? '').split('?', 2)
  if (path !== accessPath || request.method !== 'GET') return sendNotFound(response)
  const query = new URLSearchParams(search)
  const destination = localPath(query.get('path') ?? '/')
  const token = query.get('token') ?? ''
  const cookie = isToken('preview_link', token)
    ? await redeemLink(app.db, target.id, token, browserHashOf(request))
    : null
  if (cookie !== null) {
    const set = hostCookie(accessCookie, cookie, cookieLifetimeSeconds)
    return sendRedirect(response, destination, [set])
  }
  // A second click on a used link, in the browser that has its cookie.
  if (await admit(cookies, target, request)) return sendRedirect(response, destination, [])
  sendPage(response, 401, 'This link was already used or has expired. Ask for a new one.')
}

/** Never leads to another host: browsers take //name and /\name for one. */
function localPath(path: string): string {
  const isLocal = /^\/(?![/\\])[\x21\x22\x24-\x5b\x5d-\x7e]*$/.test(path)
  return isLocal && !path.startsWith(accessPath) ? path : '/'
}
