import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { MachineEvents } from './events.ts'
import type { CallOptions } from './options.ts'
import type { Machine } from './machine.ts'
import type { Body, Input } from './transport.ts'
import { hadLostAnswer } from './transport.ts'
import type { MachineRecord } from './wire/records.ts'

type Change = `POST /v1/machines/{machine_id}/${'start' | 'stop' | 'restart' | 'restore'}`

/**
 * Asks for a change of a machine's state. When an answer is lost it asks again, and takes a conflict for
 * what it is then: the machine is on its way already.
 */
export async function changeMachine<R extends Change>(
  client: Client,
  machine: Machine,
  route: R,
  input: { readonly body?: Body<R> },
  { signal }: CallOptions,
): Promise<MachineRecord> {
  const params = { machineId: machine.id }
  try {
    const whole = { ...input, params } as Input<R>
    return (await client.transport.call<R>(route, whole, {
      signal,
      isRepeatable: true,
    })) as MachineRecord
  } catch (error) {
    const isOnItsWay =
      error instanceof ApiError && error.code === 'conflict' && hadLostAnswer(error)
    if (!isOnItsWay) throw error
    return client.transport.call('GET /v1/machines/{machine_id}', { params }, { signal })
  }
}

/** Why a machine is in `error`, if its log says so. */
export async function failureOf(
  events: MachineEvents,
  { signal }: CallOptions,
): Promise<string | null> {
  const { data } = await events.list({ limit: 10, signal })
  return data.find(({ type }) => type === 'machine.failed')?.message ?? null
}
