import { ApiError, type Quota } from '@computer/sdk'
import { writeSync } from 'node:fs'
import { toWire } from './output.ts'
import { printable } from './text.ts'

/** Exit codes by error code; all others exit with 1. */
const exitCodes: Readonly<Partial<Record<ApiError['code'], number>>> = {
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

/** Exits with a code without a message: the output is already complete. */
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

/** Writes the error and what to do about it to standard error. */
export function reportError(error: unknown, { json }: { readonly json: boolean }): void {
  if (error instanceof Exit) return
  writeSync(
    2,
    json ? `${JSON.stringify(toWire(envelopeOf(error)))}\n` : `${describeError(error)}\n`,
  )
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return `error: ${error}`
  if (!(error instanceof ApiError)) {
    // System errors explain themselves; anything else is a bug, so print the stack.
    return 'code' in error ? `error: ${error.message}` : `error: ${error.stack ?? error.message}`
  }
  const lines = [
    `error: ${printable(error.quota ? describeQuota(error.quota, error.message) : error.message)}`,
    ...error.details.map(({ field, message }) => `  ${printable(`${field}: ${message}`)}`),
    ...hintsFor(error),
  ]
  return lines.join('\n')
}

const hints: Readonly<Partial<Record<ApiError['code'], string>>> = {
  unauthenticated: 'Sign in with `computer login`, or set COMPUTER_API_KEY.',
  permission_denied: 'Show the permissions of this key with `computer me`.',
  connection_failed: 'Is the server up? List the configured servers with `computer profiles list`.',
  timed_out: 'The operation may still complete; check again, or wait longer with --timeout.',
}

function hintsFor({ code, requestId }: ApiError): string[] {
  const hint = hints[code]
  const request =
    code === 'internal_error' && requestId
      ? [`Find it in the server's log under request ${requestId}.`]
      : []
  return [...(hint ? [hint] : []), ...request]
}

const limits: Readonly<Record<Quota['limit'], readonly [name: string, remedy: string]>> = {
  running_machines: ['running machines', 'Stop one'],
  machines: ['machines', 'Delete one'],
  templates: ['templates', 'Delete one'],
  members: ['members', 'Remove one'],
  concurrent_sessions: ['open sessions', 'Close one'],
  snapshots_per_machine: ['snapshots of a machine', 'Delete the newest'],
}

function describeQuota(
  { limit, current, maximum, planId, upgradeUrl }: Quota,
  message: string,
): string {
  // If nothing at all is allowed, only the message tells why.
  if (maximum === 0) return upgradeUrl ? `${message}; see ${upgradeUrl}` : message
  const [name, remedy] = limits[limit] ?? [limit, 'Free some']
  const raise = upgradeUrl ? `upgrade the plan at ${upgradeUrl}` : 'ask for a larger plan'
  return maximum === null
    ? `plan ${planId} has no limit configured for ${name}; ${raise}`
    : `plan ${planId} allows ${maximum} ${name}, and ${current} exist. ${remedy}, or ${raise}.`
}

/** The error envelope of the API, and the holder of an input lease that another session has. */
function envelopeOf(error: unknown) {
  if (!(error instanceof ApiError)) {
    const message = error instanceof Error ? error.message : String(error)
    return { error: { code: 'internal_error', message } }
  }
  const { code, message, requestId, details, quota, holder } = error
  return {
    error: {
      code,
      message,
      ...(requestId && { requestId }),
      ...(details.length > 0 && { details }),
      ...(quota && { quota }),
      ...(holder && { holder }),
    },
  }
}
