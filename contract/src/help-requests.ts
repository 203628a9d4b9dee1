import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { HelpRequestId, MachineId, OrganizationId, SessionId, UserId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { InputLease, Session } from './sessions.ts'
import { text, Timestamp } from './text.ts'

/*
 * A help request: an agent asks a person to do something on its machine, waits, and goes on from what the person did
 * (docs/decisions/0039).
 */

export const HelpReason = z
  .enum(['login', 'two_factor', 'captcha', 'approval', 'question', 'other'])
  .meta({ id: 'HelpReason' })
export type HelpReason = z.infer<typeof HelpReason>

export const HelpState = z
  .enum(['open', 'active', 'done', 'declined', 'cancelled', 'expired'])
  .meta({
    id: 'HelpState',
    description:
      'open: nobody has taken it. active: a person has the screen. The others are ends: nothing follows them.',
  })
export type HelpState = z.infer<typeof HelpState>

/** The private mode is on for these unless the request says otherwise. */
export const privateReasons: readonly HelpReason[] = ['login', 'two_factor']

export const HelpPerson = z
  .object({
    type: z.enum(['user', 'api_key', 'guest']),
    id: z.string().describe('The id of a guest is that of the help request.'),
    name: z.string(),
  })
  .meta({ id: 'HelpPerson' })
export type HelpPerson = z.infer<typeof HelpPerson>

export const HelpWindow = z.object({
  title: z.string().max(256),
  program: z.string().max(128).describe('The class of the window, such as Chromium.'),
})
export type HelpWindow = z.infer<typeof HelpWindow>

export const HelpBrief = z
  .object({
    windows_opened: z.array(HelpWindow).max(50),
    windows_closed: z.array(HelpWindow).max(50),
    files_changed: z
      .array(z.object({ path: z.string().max(4096), size: z.number().min(0) }))
      .max(200)
      .describe('Files below the home folder that were written meanwhile, without caches.'),
    has_more_files: z.boolean(),
    clipboard_changed: z.boolean(),
    pictures: z
      .array(z.enum(['before', 'after']))
      .describe('Which pictures of the screen there are: GET …/picture.'),
    is_complete: z
      .boolean()
      .describe('False if the machine did not answer at the begin or at the end.'),
  })
  .meta({ id: 'HelpBrief', description: 'The changes on the machine while the person had it.' })
export type HelpBrief = z.infer<typeof HelpBrief>

export const HelpOutcome = z.enum(['done', 'declined']).meta({ id: 'HelpOutcome' })
export type HelpOutcome = z.infer<typeof HelpOutcome>

export const HelpRequest = z
  .object({
    id: HelpRequestId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    state: HelpState,
    reason: HelpReason,
    message: z.string(),
    choices: z.array(z.string()).nullable(),
    private: z
      .boolean()
      .describe('While it is active, nobody else can look at the screen or read the clipboard.'),
    assignee: z.object({ id: UserId, name: z.string() }).nullable(),
    requested_by: HelpPerson,
    taken_by: HelpPerson.nullable().describe('The person who has it, or had it last.'),
    session_id: SessionId.nullable().describe('The session of the person while it is active.'),
    answer: z
      .object({
        outcome: HelpOutcome,
        text: z.string().nullable(),
        choice: z.string().nullable(),
        by: HelpPerson,
      })
      .nullable(),
    brief: HelpBrief.nullable().describe('Set when a person who had taken it has answered.'),
    takeover_url: z
      .string()
      .nullable()
      .describe(
        'Opens this screen, and nothing else, for somebody without an account, once. Returned when the request is created.',
      ),
    created_at: Timestamp,
    taken_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable(),
    expires_at: Timestamp,
  })
  .meta({ id: 'HelpRequest' })
export type HelpRequest = z.infer<typeof HelpRequest>

export const CreateHelpRequest = z.strictObject({
  reason: HelpReason,
  message: text(2000, 1).describe('The task of the person. Plain text.'),
  choices: z.array(text(100, 1)).min(2).max(10).optional().describe('Answers to choose from.'),
  assignee: UserId.optional().describe('A member, who gets a mail.'),
  expires_in_seconds: z.int().min(60).max(86_400).default(3600),
  private: z.boolean().optional().describe('Default: true for login and two_factor.'),
})
export type CreateHelpRequest = z.input<typeof CreateHelpRequest>

export const HelpAnswer = z.strictObject({
  outcome: HelpOutcome,
  text: text(4000).optional(),
  choice: text(100, 1).optional().describe('One of the choices of the request.'),
})
export type HelpAnswer = z.infer<typeof HelpAnswer>

export const HelpTaken = z
  .object({ help_request: HelpRequest, session: Session, lease: InputLease })
  .meta({ id: 'HelpTaken' })
export type HelpTaken = z.infer<typeof HelpTaken>

/** The longest that a call waits for a change of the state. */
export const helpWaitMaxSeconds = 60
/** A person who takes a request holds the lease for so long, and renews it. */
export const helpLeaseSeconds = 60
/** More open or active requests of a machine are refused with conflict. */
export const maxOpenHelpRequests = 5

const WaitSeconds = z.coerce
  .number()
  .int()
  .min(0)
  .max(helpWaitMaxSeconds)
  .default(0)
  .describe(
    'Answers when the state is another than when the call came, at once if it has ended, and after this many seconds at the latest.',
  )
/** The query of a read that waits. */
export const HelpWaitQuery = z.strictObject({ wait: WaitSeconds })

const path = '/v1/help-requests'
const params = z.object({ help_request_id: HelpRequestId })
const requires = 'machines:control'

export const helpRequests = {
  create: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/help-requests',
    summary: 'Ask a person for help on a machine. Fails with conflict if five are open.',
    requires,
    params: z.object({ machine_id: MachineId }),
    body: CreateHelpRequest,
    status: 201,
    response: HelpRequest,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List the help requests of the organization, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      machine_id: MachineId.optional(),
      state: z
        .union([HelpState, z.array(HelpState).max(6)])
        .optional()
        .describe('The states to list: state=open&state=active.'),
    }),
    status: 200,
    response: pageOf(HelpRequest),
  }),
  get: endpoint({
    method: 'GET',
    path: `${path}/{help_request_id}`,
    summary: 'Get a help request, and wait for a change of its state.',
    requires: 'member',
    params,
    query: HelpWaitQuery,
    status: 200,
    response: HelpRequest,
  }),
  take: endpoint({
    method: 'POST',
    path: `${path}/{help_request_id}/take`,
    summary:
      'Take a help request: opens a session for the caller, which gets the input lease from whoever holds it. Fails with conflict if somebody else has taken it.',
    requires,
    params,
    status: 200,
    response: HelpTaken,
  }),
  release: endpoint({
    method: 'POST',
    path: `${path}/{help_request_id}/release`,
    summary: 'Leave a help request that the caller has taken, without an answer: it is open again.',
    requires,
    params,
    status: 200,
    response: HelpRequest,
  }),
  answer: endpoint({
    method: 'POST',
    path: `${path}/{help_request_id}/answer`,
    summary:
      'Answer a help request that the caller has taken, or that nobody has. Hands the machine back.',
    requires,
    params,
    body: HelpAnswer,
    status: 200,
    response: HelpRequest,
  }),
  cancel: endpoint({
    method: 'POST',
    path: `${path}/{help_request_id}/cancel`,
    summary: 'Cancel a help request that has not ended. Ends the session of the person who has it.',
    requires,
    params,
    status: 200,
    response: HelpRequest,
  }),
  link: endpoint({
    method: 'POST',
    path: `${path}/{help_request_id}/link`,
    summary:
      'Make a new takeover link for somebody without an account. Earlier links, and who came by them, lose their access.',
    requires,
    params,
    status: 201,
    response: z.object({ takeover_url: z.string(), expires_at: Timestamp }),
  }),
  picture: endpoint({
    method: 'GET',
    path: `${path}/{help_request_id}/picture`,
    summary: 'Get the picture of the screen from before or after the person had it.',
    requires: 'member',
    params,
    query: z.strictObject({ of: z.enum(['before', 'after']) }),
    status: 200,
    response: z.object({
      image: z.string().describe('base64'),
      format: z.literal('webp'),
    }),
    bytes: 'image/*',
  }),
}
