import type { ErrorCode, FieldError, MachineState, Quota } from '@computer/contract'

/** An answer of the service that is not a success: what is wrong and what to do about it. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly details: readonly FieldError[] | undefined
  readonly quota: Quota | undefined
  /** Seconds after which the same call may succeed; sent as retry-after. */
  readonly retryAfter: number | undefined
  /** The size of a file that ends before a range asked of it begins, which HTTP has status 416 for. */
  readonly sizeOfRanged: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly details?: readonly FieldError[]
      readonly quota?: Quota
      readonly retryAfter?: number
      readonly sizeOfRanged?: number
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.details = options.details
    this.quota = options.quota
    this.retryAfter = options.retryAfter
    this.sizeOfRanged = options.sizeOfRanged
  }
}

export const conflict = (message: string) => new ApiError('conflict', message)
export const notFound = (what: string) => new ApiError('not_found', `there is no ${what}`)
export const invalid = (message: string, details?: readonly FieldError[]) =>
  new ApiError('invalid_request', message, details ? { details } : {})

export function illegalMove(from: MachineState, to: MachineState): ApiError {
  return conflict(`a machine cannot go from ${from} to ${to}`)
}

/** A machine that is not running cannot do this: temporarily while it boots, else until a start. */
export function notRunning(state: MachineState): ApiError {
  return state === 'creating' || state === 'starting'
    ? new ApiError('compute_unavailable', `the machine is ${state}; try again shortly`, {
        retryAfter: 1,
      })
    : new ApiError('precondition_failed', `the machine is ${state}; this needs it running`)
}
