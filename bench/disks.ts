import { setTimeout as delay } from 'node:timers/promises'
import type { Api } from './api.ts'
import type { Incus } from './incus.ts'
import { deleteMachine, waitFor, withMachine, type Machine } from './machine.ts'
import type { BenchContext } from './row.ts'

/** One of our machines and one of the baseline, made of the same image and of the same size. */
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

/** An instance, as somebody with the engine's client alone handles it. */
export type Baseline = {
  readonly name: string
  /** A command of the client that names the project by itself. */
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

/** The output of a script in one of our machines. */
export async function shell(api: Api, id: string, script: string, user = 'agent'): Promise<string> {
  const result = await api.json<{ stdout: string; stderr: string; exit_code: number }>(
    'POST',
    `/v1/machines/${id}/exec`,
    { command: ['sh', '-c', script], user, timeout_ms: 600_000 },
  )
  if (result.exit_code === 0) return result.stdout
  throw new Error(`${script}: exit code ${result.exit_code}, ${result.stderr}`)
}

/** Resolves when it is ready, which the server is asked every few milliseconds. */
export async function takeSnapshot(api: Api, machineId: string): Promise<string> {
  const body = { machine_id: machineId }
  const { id } = await api.json<{ id: string }>('POST', '/v1/snapshots', body)
  for (;;) {
    const { state, error } = await api.json<{ state: string; error: string | null }>(
      'GET',
      `/v1/snapshots/${id}`,
    )
    if (state === 'ready') return id
    if (state !== 'pending') throw new Error(`the snapshot is ${state}: ${error}`)
    await delay(5)
  }
}

/** Resolves when nothing of it is left. */
export async function deleteSnapshot(api: Api, id: string): Promise<void> {
  await api.json('DELETE', `/v1/snapshots/${id}`)
  await waitFor(`snapshot ${id} is gone`, async () => {
    return (await api.call('GET', `/v1/snapshots/${id}`)).status === 404
  })
}

/** Forks a machine; resolves with what the script says in the fork, as soon as that answers. */
export async function forkAndRun(
  api: Api,
  sourceId: string,
  script: string,
): Promise<{ readonly id: string; readonly output: string }> {
  const { id } = await api.json<Machine>('POST', `/v1/machines/${sourceId}/fork`, {})
  try {
    for (;;) {
      const { state } = await api.json<{ state: string }>('GET', `/v1/machines/${id}`)
      if (state === 'running') return { id, output: await shell(api, id, script) }
      if (state !== 'creating') throw new Error(`the fork is ${state}`)
      await delay(5)
    }
  } catch (error) {
    await deleteMachine(api, id)
    throw error
  }
}
