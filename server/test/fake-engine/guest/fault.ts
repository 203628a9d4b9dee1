import type { ErrorCode, GuestError } from '@computer/contract'

/** A refusal by the fake guest, as it goes over the wire. */
export class GuestFault extends Error {
  override name = 'GuestFault'
  readonly code: ErrorCode
  readonly reason: GuestError['error']['reason']

  constructor(code: ErrorCode, message: string, reason?: GuestError['error']['reason']) {
    super(message)
    this.code = code
    this.reason = reason
  }
}
