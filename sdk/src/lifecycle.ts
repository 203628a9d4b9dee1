import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { MachineEvents } from './events.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { Body, CallInput } from './transport.ts'
import { hadLostResponse } from './transport.ts'
import type { MachineRecord, MachineState } from './wire/records.ts'

type ChangeRoute = `POST /v1/machines/{machine_id}/${'start' | 'stop' | 'restart' | 'restore'}`

export type DeleteOptions = WaitOptions & {
  /** Deletes its snapshots as well, newest first. It takes the permission `snapshots:delete`. */
  readonly snapshots?: 'delete' | undefined
}

/** States in which a machine is, or is about to be, where a call should bring it. */
const reached: Readonly<Partial<Record<ChangeRoute, readonly MachineState[]>>> = {
  'POST /v1/machines/{machine_id}/start': ['creating', 'starting', 'running'],
  'POST /v1/machines/{machine_id}/stop': ['stopping', 'stopped'],
}

/**
 * Requests a state change. A conflict is none if the machine already is where the call should bring it, or if
 * a response was lost, because the first request took effect then.
 */
export async function changeMachine<R extends ChangeRoute>(
  client: Client,
  machineId: string,
  route: R,
  input: { readonly body?: Body<R>; readonly creates?: true },
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
    if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
    const path = 'GET /v1/machines/{machine_id}'
    const record = await client.transport.call(path, { params }, { signal })
    if (hadLostResponse(error) || reached[route]?.includes(record.state)) return record
    throw error
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
