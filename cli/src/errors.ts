import { ApiError, type Quota } from '@computer/sdk'
import { writeSync } from 'node:fs'
import { printable } from './text.ts'

/** The exit code of each class of failure. Anything else is 1. */
export const exitCodes: Readonly<Partial<Record<ApiError['code'], number>>> = {
  invalid_request: 2,
  unauthenticated: 3,
  permission_denied: 4,
  not_found: 5,
  conflict: 6,
  precondition_failed: 6,
  quota_exceeded: 7,
  compute_unavailable: 8,
  rate_limited: 8,
  connection_failed: 8,
  timed_out: 9,
}

/** Ends the program with a code when everything was said already. */
export class Exit extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit ${exitCode}`)
    this.exitCode = exitCode
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof Exit) return error.exitCode
  return error instanceof ApiError ? (exitCodes[error.code] ?? 1) : 1
}

/** Says on standard error what is wrong and what to do. */
export function reportError(error: unknown, { json }: { readonly json: boolean }): void {
  if (error instanceof Exit) return
  writeSync(2, json ? `${JSON.stringify(envelopeOf(error))}\n` : `${describeError(error)}\n`)
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return `error: ${error}`
  if (!(error instanceof ApiError)) {
    // What the system refused says so in its message; anything else is a fault of this program.
    return 'code' in error ? `error: ${error.message}` : `error: ${error.stack ?? error.message}`
  }
  const lines = [
    `error: ${printable(error.quota ? describeQuota(error.quota) : error.message)}`,
    ...error.details.map(({ field, message }) => `  ${printable(`${field}: ${message}`)}`),
    ...hintsFor(error),
  ]
  return lines.join('\n')
}

const hints: Readonly<Partial<Record<ApiError['code'], string>>> = {
  unauthenticated: 'Sign in with `computer login`, or set COMPUTER_API_KEY.',
  permission_denied: '`computer me` shows what this key may do.',
  connection_failed: 'Is the server up? `computer profiles list` shows the addresses in use.',
  timed_out: 'It may still happen: look again, or wait longer with --timeout.',
}

function hintsFor({ code, requestId }: ApiError): string[] {
  const hint = hints[code]
  const request =
    code === 'internal_error' && requestId ? [`The server's log has it as ${requestId}.`] : []
  return [...(hint ? [hint] : []), ...request]
}

const limits: Readonly<Record<Quota['limit'], readonly [what: string, remedy: string]>> = {
  running_machines: ['running machines', 'Stop one'],
  machines: ['machines', 'Delete one'],
  templates: ['templates', 'Delete one'],
  members: ['members', 'Remove one'],
  concurrent_sessions: ['open sessions', 'Close one'],
  snapshots_per_machine: ['snapshots of a machine', 'Delete its newest'],
}

function describeQuota({ limit, current, maximum, planId, upgradeUrl }: Quota): string {
  const [what, remedy] = limits[limit] ?? [limit, 'Free some']
  const raise = upgradeUrl ? `raise the plan at ${upgradeUrl}` : 'ask for a larger plan'
  return maximum === null
    ? `the plan ${planId} has no number for ${what} yet: ${raise}`
    : `the plan ${planId} allows ${maximum} ${what}, and there are ${current}. ${remedy}, or ${raise}.`
}

/** As the API would have put it. */
function envelopeOf(error: unknown) {
  if (!(error instanceof ApiError)) {
    const message = error instanceof Error ? error.message : String(error)
    return { error: { code: 'internal_error', message } }
  }
  const { code, message, requestId, details, quota } = error
  return {
    error: {
      code,
      message,
      ...(requestId && { request_id: requestId }),
      ...(details.length > 0 && { details }),
      ...(quota && {
        quota: {
          limit: quota.limit,
          current: quota.current,
          maximum: quota.maximum,
          plan_id: quota.planId,
          upgrade_url: quota.upgradeUrl,
        },
      }),
    },
  }
}
