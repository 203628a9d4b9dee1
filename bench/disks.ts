import type { ApiClient } from '../e2e/harness/api.ts'
import { eventually } from '../e2e/harness/polling.ts'
import type { Incus } from './incus.ts'
import {
  deleteMachine,
  polling,
  shell,
  waitUntilGone,
  withMachine,
  type Machine,
} from './machine.ts'
import type { BenchContext } from './row.ts'

/** Disk operations take tens of milliseconds, so they are polled more often. */
const diskPolling = { ...polling, everyMs: 5 }

/** Runs `work` with a machine of ours and an instance of the baseline, of the same image and size. */
export async function withBoth<T>(
  { api, incus }: BenchContext,
  name: string,
  work: (ours: Machine, baseline: Baseline) => Promise<T>,
): Promise<T> {
  await incus.run(...incus.launchArgs(incus.image, name))
  try {
    return await withMachine(api, name, (machine) => work(machine, openBaseline(incus, name)))
  } finally {
    await incus.remove(name)
  }
}

/** An instance, used through the engine's own client alone. */
export type Baseline = {
  readonly name: string
  /** Runs a command of the client in the baselines' project. */
  run(...args: readonly string[]): Promise<string>
  shell(script: string, instance?: string): Promise<string>
}

function openBaseline(incus: Incus, name: string): Baseline {
  return {
    name,
    run: (...args) => incus.run(...args, '--project', incus.project),
    shell: async (script, instance = name) =>
      (await incus.exec(instance, 'sh', '-c', script)).toString('utf8'),
  }
}

/** Resolves to the id of the snapshot when it is ready. */
export async function takeSnapshot(api: ApiClient, machineId: string): Promise<string> {
  const body = { machine_id: machineId }
  const { id } = await api.ok<{ id: string }>('POST', '/v1/snapshots', body)
  const isReady = async () => {
    const path = `/v1/snapshots/${id}`
    const { state, error } = await api.ok<{ state: string; error: string | null }>('GET', path)
    if (state !== 'ready' && state !== 'pending') throw new Error(`snapshot is ${state}: ${error}`)
    return state === 'ready'
  }
  await eventually(`snapshot ${id} is ready`, isReady, diskPolling)
  return id
}

/** Resolves when the snapshot is gone. */
export async function deleteSnapshot(api: ApiClient, id: string): Promise<void> {
  await api.ok('DELETE', `/v1/snapshots/${id}`)
  await waitUntilGone(api, `/v1/snapshots/${id}`)
}

/** Forks a machine and runs a script in the fork as soon as that runs. */
export async function forkAndRun(
  api: ApiClient,
  sourceId: string,
  script: string,
): Promise<{ readonly id: string; readonly output: string }> {
  const { id } = await api.ok<Machine>('POST', `/v1/machines/${sourceId}/fork`, {})
  const isRunning = async () => {
    const { state } = await api.ok<{ state: string }>('GET', `/v1/machines/${id}`)
    if (state !== 'running' && state !== 'creating') throw new Error(`the fork is ${state}`)
    return state === 'running'
  }
  try {
    await eventually(`fork ${id} runs`, isRunning, diskPolling)
    return { id, output: await shell(api, id, script) }
  } catch (error) {
    await deleteMachine(api, id)
    throw error
  }
}
