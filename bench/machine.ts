import type { ApiClient } from '../e2e/harness/api.ts'
import { eventually } from '../e2e/harness/polling.ts'

export type Machine = { readonly id: string; readonly name: string }

/** Polling in benches: frequent, because it is often timed. */
export const polling = { everyMs: 20, withinMs: 120_000 }

/** Resolves when the machine runs. */
export async function createMachine(api: ApiClient, name: string): Promise<Machine> {
  const machine = await api.ok<Machine & { state: string }>('POST', '/v1/machines', {
    name: `bench-${name}`,
    metadata: { purpose: 'bench' },
  })
  if (machine.state === 'running') return machine
  await deleteMachine(api, machine.id)
  throw new Error(`the machine is ${machine.state}, not running`)
}

/** Resolves when the machine is gone, so that its deletion does not disturb the next measurement. */
export async function deleteMachine(api: ApiClient, id: string): Promise<void> {
  await api.ok('DELETE', `/v1/machines/${id}`)
  await waitUntilGone(api, `/v1/machines/${id}`)
}

export async function waitUntilGone(api: ApiClient, path: string): Promise<void> {
  const isGone = async () => (await api.call('GET', path)).status === 404
  await eventually(`${path} is gone`, isGone, polling)
}

/** Runs `work` with a machine that is deleted afterwards. */
export async function withMachine<T>(
  api: ApiClient,
  name: string,
  work: (machine: Machine) => Promise<T>,
): Promise<T> {
  const machine = await createMachine(api, name)
  try {
    return await work(machine)
  } finally {
    await deleteMachine(api, machine.id)
  }
}

/** Runs a script in a machine and resolves to its standard output. */
export function shell(
  api: ApiClient,
  id: string,
  script: string,
  user: 'agent' | 'root' = 'agent',
): Promise<string> {
  return api.run(id, ['sh', '-c', script], { user, timeout_ms: 600_000 })
}
