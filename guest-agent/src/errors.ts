import type { ErrorCode } from '@computer/contract/errors'

type ErrorReason =
  | 'fence_stale'
  | 'fence_unknown'
  | 'desktop_down'
  | 'screen_stale'
  | 'screen_private'

/** An error for the caller. Anything else that is thrown becomes internal_error. */
export class AgentError extends Error {
  override name = 'AgentError'
  readonly code: ErrorCode
  readonly reason: ErrorReason | undefined

  constructor(code: ErrorCode, message: string, options: AgentErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.reason = options.reason
  }
}

export function invalidRequest(message: string): AgentError {
  return new AgentError('invalid_request', message)
}

export function desktopDown(message: string): AgentError {
  return new AgentError('compute_unavailable', message, { reason: 'desktop_down' })
}

type AgentErrorOptions = ErrorOptions & { readonly reason?: ErrorReason }
