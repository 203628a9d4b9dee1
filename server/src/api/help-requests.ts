import type { HelpRequest, helpRequests } from '@computer/contract'
import type { App } from '../app.ts'
import type { HelpRow } from '../db/database.ts'
import { answerHelp, cancelHelp, releaseHelp } from '../domain/help/answering.ts'
import { createHelpLink } from '../domain/help/guests.ts'
import { createHelpRequest, getPicture, listHelpRequests } from '../domain/help/requests.ts'
import { takeHelp } from '../domain/help/taking.ts'
import { waitForHelp } from '../domain/help/wait.ts'
import { showReference } from '../domain/show-reference.ts'
import { showLease } from '../http/show-lease.ts'
import { BytesResponse, type Routes } from './route.ts'
import { showSession } from './sessions.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function helpRequestRoutes(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'config' | 'log'>,
): Routes<typeof helpRequests> {
  return {
    create: async (actor, { params, body, newId }) => {
      const made = await createHelpRequest(app, actor, newId('hlp'), params.machine_id, body)
      return { ...toWire(made.help), takeover_url: made.takeoverUrl }
    },
    list: async (actor, { query }) =>
      pageToWire(await listHelpRequests(app.db, actor, query), toWire),
    get: async (actor, { params, query, signal }) =>
      toWire(await waitForHelp(app, actor, params.help_request_id, query.wait, signal)),
    take: async (actor, { params }) => {
      const { help, session, lease } = await takeHelp(app, actor, params.help_request_id)
      return {
        help_request: toWire(help),
        session: showSession(session),
        lease: showLease(help.machine_id, lease),
      }
    },
    release: async (actor, { params }) =>
      toWire(await releaseHelp(app, actor, params.help_request_id)),
    answer: async (actor, { params, body }) =>
      toWire(await answerHelp(app, actor, params.help_request_id, body)),
    cancel: async (actor, { params }) =>
      toWire(await cancelHelp(app, actor, params.help_request_id)),
    link: async (actor, { params }) => {
      const { takeoverUrl, expiresAt } = await createHelpLink(app, actor, params.help_request_id)
      return { takeover_url: takeoverUrl, expires_at: expiresAt.toISOString() }
    },
    picture: async (actor, { params, query, wantsBytes }) => {
      const image = await getPicture(app.db, actor, params.help_request_id, query.of)
      if (!wantsBytes) return { image: image.toString('base64'), format: 'webp' }
      const headers = { 'content-type': 'image/webp', 'content-length': image.length }
      return new BytesResponse(image, headers)
    },
  }
}

function toWire(row: HelpRow): HelpRequest {
  const by = showReference(row.answered_by_type, row.answered_by_id, row.answered_by_name)
  const isAnswered = row.state === 'done' || row.state === 'declined'
  return {
    ...rowToWire(row),
    assignee: row.assignee_id && { id: row.assignee_id, name: row.assignee_name! },
    requested_by: showReference(row.requested_by_type, row.requested_by_id, row.requested_by_name)!,
    taken_by: showReference(row.taken_by_type, row.taken_by_id, row.taken_by_name),
    answer:
      isAnswered && by
        ? { outcome: row.state as 'done', text: row.answer_text, choice: row.choice, by }
        : null,
    takeover_url: null,
  }
}
