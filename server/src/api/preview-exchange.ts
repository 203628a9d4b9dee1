import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { UserActor } from '../actor.ts'
import type { App } from '../app.ts'
import { authenticate } from '../http/authenticate.ts'
import { readSessionCookie } from '../http/cookies.ts'
import { createLink, findMembersPreview } from '../domain/previews/credentials.ts'
import { accessUrlOf, exchangePath, isLabel } from '../domain/previews/hosts.ts'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'
import { plainPage } from '../http/plain-page.ts'

/*
 * Lets members open a private preview in a browser. The preview's host redirects them here, where they
 * are signed in, and they are redirected back with a link that works once, within a minute, for that
 * host and in that browser only. The target comes from the preview's row, never from the URL, so this
 * is no open redirect. A person who is not signed in goes to the dashboard's sign-in, which sends them
 * back here. To others, the response does not reveal whether the preview exists.
 */

const Query = z.strictObject({
  preview: z.string().refine(isLabel),
  /** SHA-256 of a random value that the preview's host stored in a cookie of the browser. */
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
    const { previews } = app.config
    if (!previews || !query.success || !isNavigation(request)) return sendNotFound(reply)
    const { preview, browser, path } = query.data
    const actor = await findSignedIn(app, request)
    if (!actor) return reply.redirect(signInUrl(app.config, query.data), 303)
    const id = await findMembersPreview(app.db, actor, preview)
    if (!id) return sendNotFound(reply)
    const browserHash = Buffer.from(browser, 'base64url')
    const token = await createLink(app.db, id, { ...actor, browserHash })
    return reply.redirect(accessUrlOf(previews, preview, token, path), 303)
  })
}

/** Whether the user navigates here. Subresource requests and fetches of a page are refused. */
function isNavigation({ headers }: FastifyRequest): boolean {
  return (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate'
}

/** The user who is signed in by cookie. Browsers send no API key. */
async function findSignedIn(
  app: Parameters<typeof authenticate>[0],
  request: FastifyRequest,
): Promise<UserActor | null> {
  if (readSessionCookie(app.config, request.headers) === null) return null
  try {
    const actor = await authenticate(app, request)
    const { authSessionId } = actor
    return authSessionId === null ? null : { ...actor, authSessionId }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unauthenticated') return null
    throw error
  }
}

/**
 * The dashboard's page that signs in and then continues at `next`, a path of this API. It is the same
 * whether or not the preview exists.
 */
function signInUrl({ dashboardUrl }: Config, query: z.infer<typeof Query>): string {
  const next = `${exchangePath}?${new URLSearchParams(query).toString()}`
  return `${dashboardUrl}/login?next=${encodeURIComponent(next)}`
}

function sendNotFound(reply: FastifyReply) {
  const page = plainPage('Not found', 'There is nothing at this address.')
  return reply.code(404).type('text/html; charset=utf-8').send(page)
}
