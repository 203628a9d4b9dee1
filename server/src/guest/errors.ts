import type { ErrorCode, GuestError } from '@computer/contract'

/** The agent understood the request and declined it. The message is fit for the caller. */
export class GuestRefusal extends Error {
  override name = 'GuestRefusal'
  readonly code: ErrorCode
  readonly reason: GuestError['error']['reason']

  constructor(refusal: GuestError['error']) {
    super(refusal.message)
    this.code = refusal.code
    this.reason = refusal.reason
  }
}

/**
 * No answer of the agent: it cannot be reached, it is silent, it died midway or it talks nonsense.
 * `sent: false` promises that it has not acted on the request; `true` says that it may have.
 */
export class GuestUnavailable extends Error {
  override name = 'GuestUnavailable'
  readonly sent: boolean

  constructor(message: string, options: ErrorOptions & { readonly sent: boolean }) {
    super(message, options)
    this.sent = options.sent
  }
}
