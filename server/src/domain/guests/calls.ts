import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { MachineRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import type { GuestRef } from '../../guest/channels.ts'
import { GuestRefusal, GuestUnavailable } from '../../guest/errors.ts'
import { staleScreenField, type MachineId } from '@computer/contract'
import { getRunningMachine } from '../find-machine.ts'

/** The current boot of a machine, as the guest channel names it; known before the guest is up. */
export function guestRef(
  machine: Pick<MachineRow, 'id' | 'host' | 'generation' | 'boots'>,
): GuestRef {
  return {
    id: machine.id,
    host: machine.host,
    generation: machine.generation,
    run: String(machine.boots),
  }
}

/** Calls the agent of a running machine; a failure becomes the API's error for it. */
export async function askGuest<T>(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: MachineId,
  ask: (ref: GuestRef) => Promise<T>,
): Promise<T> {
  const machine = await getRunningMachine(app.db, actor, id)
  return callGuest(() => ask(guestRef(machine)))
}

export async function callGuest<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw asApiError(error)
  }
}

/** The service's error for what a call to an agent threw. Other errors pass through. */
export function asApiError(error: unknown): unknown {
  if (error instanceof GuestRefusal) {
    const retryable = error.code === 'compute_unavailable'
    // A failure inside a machine is none of this server.
    const code = error.code === 'internal_error' ? 'compute_unavailable' : error.code
    return new ApiError(code, error.message, {
      cause: error,
      ...(retryable && { retryAfter: 1 }),
      // Tells it from the machine's state, which fails other preconditions.
      ...(error.reason === 'screen_stale' && {
        details: [{ field: staleScreenField, message: error.message }],
      }),
    })
  }
  if (error instanceof GuestUnavailable) {
    // Clients retry on retry-after, so it is sent only if the agent cannot have acted.
    const advice = error.sent ? 'it may have acted on the call' : 'try again shortly'
    return new ApiError('compute_unavailable', `${error.message}; ${advice}`, {
      cause: error,
      ...(!error.sent && { retryAfter: 1 }),
    })
  }
  return error
}
