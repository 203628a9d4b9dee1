import type { ErrorCode } from '@computer/contract/errors'

export type RefusalReason = 'fence_stale' | 'fence_unknown' | 'desktop_down'

/** An answer that is not the one asked for. Anything else that is thrown becomes internal_error. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: ErrorCode
  readonly reason: RefusalReason | undefined

  constructor(code: ErrorCode, message: string, options: RefusalOptions = {}) {
    super(message, options)
    this.code = code
    this.reason = options.reason
  }
}

export function invalid(message: string): Refusal {
  return new Refusal('invalid_request', message)
}

export function desktopDown(message: string): Refusal {
  return new Refusal('compute_unavailable', message, { reason: 'desktop_down' })
}

type RefusalOptions = ErrorOptions & { readonly reason?: RefusalReason }
