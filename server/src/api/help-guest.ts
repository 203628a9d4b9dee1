import type { GuestHelp, helpGuest } from '@computer/contract'
import type { GuestActor } from '../actor.ts'
import type { App } from '../app.ts'
import type { HelpRow } from '../db/database.ts'
import { requirePermission } from '../domain/accounts/permissions.ts'
import { answerHelp, releaseHelp } from '../domain/help/answering.ts'
import { describeFor, redeemHelpLink } from '../domain/help/guests.ts'
import { renewHelp, takeHelp } from '../domain/help/taking.ts'
import { waitForHelp } from '../domain/help/wait.ts'
import { guestCookies } from '../http/cookies.ts'
import { showLease } from '../http/show-lease.ts'
import { JsonResponse, type Routes } from './route.ts'

export function helpGuestRoutes(
  app: Pick<App, 'db' | 'guests' | 'changes' | 'config' | 'log'>,
): Routes<typeof helpGuest> {
  const show = async (actor: GuestActor | null, help: HelpRow): Promise<GuestHelp> => {
    const { machine, organizationName } = await describeFor(app.db, help)
    const isTaken = actor !== null && help.state === 'active' && help.taken_by_type === 'guest'
    return {
      state: help.state,
      reason: help.reason,
      message: help.message,
      choices: help.choices,
      private: help.private,
      machine,
      organization_name: organizationName,
      requested_by_name: help.requested_by_name,
      is_taken_by_guest: isTaken,
      session_id: isTaken ? help.session_id : null,
      expires_at: help.expires_at.toISOString(),
    }
  }
  return {
    redeem: async (_caller, { body }) => {
      const { secret, help } = await redeemHelpLink(app, body.token)
      const headers = { 'set-cookie': guestCookies(app.config, secret) }
      return new JsonResponse(await show(null, help), { headers })
    },
    get: async (actor, { query, signal }) => {
      const { helpRequestId: id } = actor.guest
      return show(actor, await waitForHelp(app, actor, id, query.wait, signal))
    },
    take: async (actor, { body }) => {
      requirePermission(actor, 'machines:control')
      const named = { ...actor, guest: { ...actor.guest, name: body.name } }
      const { help, session, lease } = await takeHelp(app, named, actor.guest.helpRequestId)
      return {
        help: await show(named, help),
        session_id: session.id,
        lease: showLease(help.machine_id, lease),
      }
    },
    renew: async (actor) => {
      const { help, lease } = await renewHelp(app, actor, actor.guest.helpRequestId)
      return showLease(help.machine_id, lease)
    },
    release: async (actor) => show(actor, await releaseHelp(app, actor, actor.guest.helpRequestId)),
    answer: async (actor, { body }) =>
      show(actor, await answerHelp(app, actor, actor.guest.helpRequestId, body)),
  }
}
