import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { MachineEvents } from './events.ts'
import type { CallOptions } from './options.ts'
import type { Body, CallInput } from './transport.ts'
import { hadLostResponse } from './transport.ts'
import type { MachineRecord } from './wire/records.ts'

type ChangeRoute = `POST /v1/machines/{machine_id}/${'start' | 'stop' | 'restart' | 'restore'}`

/**
 * Requests a state change. If a response was lost, a conflict on the retry means that the first request
 * already took effect.
 */
export async function changeMachine<R extends ChangeRoute>(
  client: Client,
  machineId: string,
  route: R,
  input: { readonly body?: Body<R> },
  { signal }: CallOptions,
): Promise<MachineRecord> {
  const params = { machineId }
  try {
    const whole = { ...input, params } as CallInput<R>
    return (await client.transport.call<R>(route, whole, {
      signal,
      isRepeatable: true,
    })) as MachineRecord
  } catch (error) {
    const isAlreadyRequested =
      error instanceof ApiError && error.code === 'conflict' && hadLostResponse(error)
    if (!isAlreadyRequested) throw error
    return client.transport.call('GET /v1/machines/{machine_id}', { params }, { signal })
  }
}

/** The reason why a machine is in `error`, if its log has one. */
export async function failureOf(
  events: MachineEvents,
  { signal }: CallOptions,
): Promise<string | null> {
  const { data } = await events.list({ limit: 10, signal })
  return data.find(({ type }) => type === 'machine.failed')?.message ?? null
}
