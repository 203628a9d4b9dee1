import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { HelpAnswer, HelpReason, HelpState, HelpWaitQuery } from './help-requests.ts'
import { MachineId, SessionId } from './ids.ts'
import { InputLease } from './sessions.ts'
import { text, Timestamp } from './text.ts'

/*
 * The guest of a help request: somebody without an account who opened its takeover link. The link is spent for a cookie,
 * which opens these endpoints and the screen channel of the request's machine with the guest's session, and nothing else.
 */

export const GuestHelp = z
  .object({
    state: HelpState,
    reason: HelpReason,
    message: z.string(),
    choices: z.array(z.string()).nullable(),
    private: z.boolean(),
    machine: z.object({ id: MachineId, name: z.string() }),
    organization_name: z.string(),
    requested_by_name: z.string(),
    is_taken_by_guest: z.boolean().describe('The guest who calls has it.'),
    session_id: SessionId.nullable().describe('The session of the guest, who has it.'),
    expires_at: Timestamp,
  })
  .meta({ id: 'GuestHelp' })
export type GuestHelp = z.infer<typeof GuestHelp>

const path = '/v1/help-guest'

export const helpGuest = {
  redeem: endpoint({
    method: 'POST',
    path: `${path}/redeem`,
    summary: 'Spend the token of a takeover link for a cookie of this browser. It works once.',
    requires: 'public',
    body: z.strictObject({ token: z.string().max(200) }),
    status: 200,
    response: GuestHelp,
  }),
  get: endpoint({
    method: 'GET',
    path,
    summary: 'Get the help request of the guest, and wait for a change of its state.',
    requires: 'guest',
    query: HelpWaitQuery,
    status: 200,
    response: GuestHelp,
  }),
  take: endpoint({
    method: 'POST',
    path: `${path}/take`,
    summary: 'Take the help request: the guest gets a session and the input lease.',
    requires: 'guest',
    body: z.strictObject({
      name: text(80, 1).default('Guest').describe('How the guest is called in the activity log.'),
    }),
    status: 200,
    response: z.object({ help: GuestHelp, session_id: SessionId, lease: InputLease }),
  }),
  renew: endpoint({
    method: 'POST',
    path: `${path}/renew`,
    summary: 'Renew the input lease of the guest.',
    requires: 'guest',
    status: 200,
    response: InputLease,
  }),
  release: endpoint({
    method: 'POST',
    path: `${path}/release`,
    summary: 'Leave the help request without an answer: it is open again.',
    requires: 'guest',
    status: 200,
    response: GuestHelp,
  }),
  answer: endpoint({
    method: 'POST',
    path: `${path}/answer`,
    summary: 'Answer the help request, and hand the machine back.',
    requires: 'guest',
    body: HelpAnswer,
    status: 200,
    response: GuestHelp,
  }),
}
