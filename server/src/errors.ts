import type { ErrorCode, FieldError, MachineState, Quota } from '@computer/contract'

type DeclinedQuota = Omit<Quota, 'upgrade_url'>

/** An error response. Its message says what is wrong and what to do. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly details: readonly FieldError[] | undefined
  /** The address at which the plan can be changed is added to the response. */
  readonly quota: DeclinedQuota | undefined
  /** Seconds after which the same call may succeed, sent as retry-after. */
  readonly retryAfter: number | undefined
  /** Set if a requested range begins past the end of a file: sent as status 416 and content-range. */
  readonly fileSize: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly details?: readonly FieldError[]
      readonly quota?: DeclinedQuota
      readonly retryAfter?: number
      readonly fileSize?: number
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.details = options.details
    this.quota = options.quota
    this.retryAfter = options.retryAfter
    this.fileSize = options.fileSize
  }
}

export const conflict = (message: string) => new ApiError('conflict', message)
export const notFound = (what: string) => new ApiError('not_found', `there is no ${what}`)
export const invalid = (message: string, details?: readonly FieldError[]) =>
  new ApiError('invalid_request', message, details ? { details } : {})

export function illegalMove(from: MachineState, to: MachineState): ApiError {
  return conflict(`a machine cannot go from ${from} to ${to}`)
}

/** Whether the call may succeed later, as when a host is full or away. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'compute_unavailable'
}

/** The host of a machine does not answer, and what is asked would have to wait for it. */
export function hostAway(): ApiError {
  return new ApiError(
    'compute_unavailable',
    'the host of the machine does not answer; a machine that ran there starts again once it does',
    { retryAfter: 10 },
  )
}

/** The machine is down on its way to another host, where it starts again within seconds. */
export function moving(): ApiError {
  return new ApiError(
    'compute_unavailable',
    'the machine moves to another host of this server; try again shortly',
    { retryAfter: 1 },
  )
}

/** The call needs a running machine. It can be retried while the machine boots, or while its host is away. */
export function notRunning(machine: {
  readonly state: MachineState
  readonly awaits_host: boolean
}): ApiError {
  const { state, awaits_host: awaitsHost } = machine
  if (awaitsHost) return hostAway()
  return state === 'creating' || state === 'starting'
    ? new ApiError('compute_unavailable', `the machine is ${state}; try again shortly`, {
        retryAfter: 1,
      })
    : new ApiError('precondition_failed', `the machine is ${state}; it must be running`)
}
