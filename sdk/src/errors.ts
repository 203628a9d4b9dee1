import type { ErrorCode, FieldError, Opener, Quota, SessionType } from './wire/records.ts'

/** Error codes of the SDK itself, in addition to those of the API. */
export type ClientErrorCode =
  /** No complete response, and retries failed or could have repeated the action. */
  | 'connection_failed'
  /** A wait exceeded its time limit. The operation may still complete. */
  | 'timed_out'
  /** The awaited operation failed; the message says why. */
  | 'operation_failed'
  /** A download exceeds its size limit. */
  | 'too_large'

/** The session that holds the input lease of a machine. */
export type LeaseHolder = {
  readonly sessionId: string
  readonly type: SessionType
  readonly openedBy: Opener
  /** Opened with the API key, or by the user, of this client. */
  readonly isOwn: boolean
  /** When the lease expires unless it is renewed. */
  readonly expiresAt: string
}

/** The error class of the SDK. Distinguish cases by `code`; `message` is for people. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode | ClientErrorCode
  /** The HTTP status, or 0 for errors of the SDK itself. */
  readonly status: number
  /** Identifies the request in the server's logs. */
  readonly requestId: string | null
  /** The invalid fields of the request. */
  readonly details: readonly FieldError[]
  /** With `quota_exceeded`: the limit that was reached, and where to raise it. */
  readonly quota: Quota | null
  /** With a `conflict` over the input lease: its holder, or null if it has none any more. */
  readonly holder: LeaseHolder | null

  constructor(
    code: ErrorCode | ClientErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly status?: number
      readonly requestId?: string | null
      readonly details?: readonly FieldError[] | undefined
      readonly quota?: Quota | null | undefined
      readonly holder?: LeaseHolder | null | undefined
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.status = options.status ?? 0
    this.requestId = options.requestId ?? null
    this.details = options.details ?? []
    this.quota = options.quota ?? null
    this.holder = options.holder ?? null
  }
}
