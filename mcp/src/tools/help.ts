import { helpReasons } from '@computer/sdk/tables'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { describeAsked, describeState } from '../help-text.ts'
import { ToolError } from '../tool-error.ts'
import { mutating, readOnly, tool, type Tool, type ToolCall } from '../tool.ts'

/** Clients abandon a call after a minute. */
const maxWaitSeconds = 55

export const helpTools: readonly Tool[] = [
  tool({
    name: 'request_help',
    title: 'Ask a person for help',
    description:
      'Ask a person to do something on the screen of a machine that you cannot or must not do: log in, ' +
      'enter a second factor, solve a captcha, approve a payment, answer a question. Use it instead of ' +
      'asking for a password. It answers at once; check_help tells what became of it. While the person ' +
      'has the screen, your clicks and keys are refused.',
    input: z.strictObject({
      machine,
      reason: z.enum(helpReasons),
      message: z
        .string()
        .min(1)
        .max(2000)
        .describe('What the person is to do, and when it is done. Plain text.'),
      choices: z
        .array(z.string().min(1).max(100))
        .min(2)
        .max(10)
        .optional()
        .describe('Answers to choose from.'),
      expires_in_minutes: z.int().min(1).max(1440).optional().describe('Default: 60.'),
    }),
    annotations: mutating,
    async run(call, { reason, message, choices, expires_in_minutes: minutes, ...input }) {
      const found = await findMachine(call, input.machine)
      const expiresInSeconds = minutes === undefined ? undefined : minutes * 60
      const body = { reason, message, choices, expiresInSeconds }
      const request = await found.helpRequests.create(body, { signal: call.signal })
      await call.connection.leases.handOver(found)
      return describeAsked(found, request)
    },
  }),
  tool({
    name: 'check_help',
    title: 'Check a request for help',
    description:
      'Check whether a person has answered a request for help, what they said, and what has changed on ' +
      'the machine meanwhile. Use it after request_help, and let it wait, until the request has ended. ' +
      'Give the ID of the request, or a machine for its newest one.',
    input: z.strictObject({
      help_request: z
        .string()
        .regex(/^hlp_[0-9a-z]{20,32}$/)
        .optional()
        .describe('ID (hlp_…) of the request.'),
      machine: machine.optional(),
      wait_seconds: z
        .int()
        .min(0)
        .max(maxWaitSeconds)
        .optional()
        .describe('Wait this long for the request to end. Default: 0.'),
    }),
    annotations: readOnly,
    async run(call, { help_request, wait_seconds = 0, ...input }) {
      const id = help_request ?? (await findNewest(call, input.machine))
      return describeState(await waitForEnd(call, id, wait_seconds))
    },
  }),
]

async function findNewest(call: ToolCall, ref: string | undefined): Promise<string> {
  if (ref === undefined) throw new ToolError('Give help_request or machine.')
  const { name, helpRequests } = await findMachine(call, ref)
  const { data } = await helpRequests.list({ limit: 1, signal: call.signal })
  if (data[0]) return data[0].id
  throw new ToolError(`Nobody was asked for help on ${name}. request_help asks a person.`)
}

/** Resolves once the request has ended, or to what it is when the time is over. */
async function waitForEnd({ connection, signal }: ToolCall, id: string, seconds: number) {
  const { helpRequests } = connection.computer
  const endAtMs = performance.now() + seconds * 1000
  for (;;) {
    const left = Math.max(0, Math.floor((endAtMs - performance.now()) / 1000))
    const request = await helpRequests.get(id, { wait: left, signal })
    const isWaiting = request.state === 'open' || request.state === 'active'
    if (!isWaiting || left === 0) return request
  }
}
