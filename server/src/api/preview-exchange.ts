import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { UserActor } from '../actor.ts'
import type { App } from '../app.ts'
import { authenticate } from '../authenticate.ts'
import { readSessionCookie } from '../cookies.ts'
import { createMemberLink, findMembersPreview } from '../domain/preview-credentials.ts'
import { accessUrlOf, exchangePath, isLabel } from '../domain/preview-hosts.ts'
import { ApiError } from '../errors.ts'
import { plainPage } from '../plain-page.ts'

/*
 * The way of a member who opens a private preview in a browser: the preview's host sends them here,
 * where they are signed in, and they are sent back with a link that works once, within a minute, for
 * that host and in that browser alone. Where it leads is read from the preview's row, never from the
 * address, so nobody can be sent elsewhere. Whoever has no business there is told of no preview.
 */

const Query = z.strictObject({
  preview: z.string().refine(isLabel),
  /** SHA-256 of what the preview's host left with the browser. */
  browser: z.string().regex(/^[\w-]{43}$/),
  path: z.string().max(4096),
})

export function addPreviewExchange(
  http: FastifyInstance,
  app: Pick<App, 'db' | 'config' | 'log' | 'principals'>,
): void {
  http.get(exchangePath, async (request, reply) => {
    void reply.header('cache-control', 'no-store')
    const query = Query.safeParse(request.query)
    if (!query.success || !isNavigation(request)) return sendNotFound(reply)
    const actor = await findPerson(app, request)
    if (!actor) return sendSignIn(reply, app.config.dashboardUrl)
    const { preview, browser, path } = query.data
    const id = app.config.previews && (await findMembersPreview(app.db, actor, preview))
    if (!app.config.previews || !id) return sendNotFound(reply)
    const token = await createMemberLink(app.db, actor, id, Buffer.from(browser, 'base64url'))
    return reply.redirect(accessUrlOf(app.config.previews, preview, token, path), 303)
  })
}

/** A page's own requests are none of it: only where a person goes themselves. */
function isNavigation({ headers }: FastifyRequest): boolean {
  return (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate'
}

/** By the cookie alone: a browser sends no key. */
async function findPerson(
  app: Parameters<typeof authenticate>[0],
  request: FastifyRequest,
): Promise<UserActor | null> {
  if (readSessionCookie(request.headers) === null) return null
  try {
    const actor = await authenticate(app, request)
    const { authSessionId } = actor
    return authSessionId === null ? null : { ...actor, authSessionId }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unauthenticated') return null
    throw error
  }
}

function sendNotFound(reply: FastifyReply) {
  return sendPage(reply, 404, plainPage('Not found', 'There is nothing at this address.'))
}

function sendSignIn(reply: FastifyReply, dashboardUrl: string) {
  const link = { to: dashboardUrl, text: 'Sign in' }
  const text = 'This preview is private. Sign in, then open it again.'
  return sendPage(reply, 401, plainPage('Sign in first', text, link))
}

function sendPage(reply: FastifyReply, status: number, page: string) {
  return reply.code(status).type('text/html; charset=utf-8').send(page)
}
