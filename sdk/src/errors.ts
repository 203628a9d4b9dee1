import type { ErrorCode, FieldError, Quota } from './wire/records.ts'

/** What the SDK itself has to report, beside the codes of the API. */
export type ClientErrorCode =
  /** No whole answer came, and trying again did not help or could have done the thing twice. */
  | 'connection_failed'
  /** What was waited for did not happen in time. It may still. */
  | 'timed_out'
  /** The work that was waited for failed: the message says why. */
  | 'operation_failed'
  /** A download is longer than its bound. */
  | 'too_large'

/** The one error of the SDK. Tell cases apart by `code`; `message` is for people. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode | ClientErrorCode
  /** The HTTP status, or 0 if the SDK itself says this. */
  readonly status: number
  /** Names the request in the server's logs. */
  readonly requestId: string | null
  /** Which fields of the request were wrong. */
  readonly details: readonly FieldError[]
  /** With `quota_exceeded`: which limit declined the call, and where to raise it. */
  readonly quota: Quota | null

  constructor(
    code: ErrorCode | ClientErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly status?: number
      readonly requestId?: string | null
      readonly details?: readonly FieldError[] | undefined
      readonly quota?: Quota | null | undefined
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.status = options.status ?? 0
    this.requestId = options.requestId ?? null
    this.details = options.details ?? []
    this.quota = options.quota ?? null
  }
}
