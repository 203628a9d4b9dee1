import { STATUS_CODES, type ServerResponse } from 'node:http'
import { plainPage } from '../../http/plain-page.ts'

const titles: Readonly<Record<number, string>> = {
  401: 'This is private',
  404: 'Not found',
  502: 'No response',
  503: 'Not available',
}

/** An error page. It must not reveal machines, hosts or organizations. */
export function sendPage(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const page = plainPage(titles[status] ?? STATUS_CODES[status] ?? 'Error', text)
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(page),
    'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    ...shared,
    ...(headers as Record<string, string | string[]>),
  })
  response.end(page)
}

export function sendRedirect(
  response: ServerResponse,
  location: string,
  cookies: readonly string[],
): void {
  response.writeHead(303, {
    location,
    'content-length': 0,
    ...(cookies.length > 0 && { 'set-cookie': [...cookies] }),
    ...shared,
  })
  response.end()
}

/** Does not reveal whether the hostname ever existed. */
export function sendNotFound(response: ServerResponse): void {
  sendPage(response, 404, 'There is nothing at this address.')
}

const shared = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
