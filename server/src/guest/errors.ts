import type { ErrorCode, GuestError } from '@computer/contract'

/** The agent understood the request and declined it. Callers may see the message. */
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
 * The agent gave no answer: it cannot be reached, is silent, died midway or sent an invalid answer.
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
