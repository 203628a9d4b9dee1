import { setTimeout as delay } from 'node:timers/promises'
import type { Api } from './api.ts'

export type Machine = { readonly id: string; readonly name: string }

/** Resolves when it runs. */
export async function createMachine(api: Api, name: string): Promise<Machine> {
  const machine = await api.json<Machine & { state: string }>('POST', '/v1/machines', {
    name: `bench-${name}`,
    metadata: { purpose: 'bench' },
  })
  if (machine.state === 'running') return machine
  await deleteMachine(api, machine.id)
  throw new Error(`the machine is ${machine.state} instead of running`)
}

/** Resolves when nothing of it is left, so that its end does not disturb what is measured next. */
export async function deleteMachine(api: Api, id: string): Promise<void> {
  await api.json('DELETE', `/v1/machines/${id}`)
  await waitFor(`machine ${id} is gone`, async () => {
    return (await api.call('GET', `/v1/machines/${id}`)).status === 404
  })
}

/** A machine for the time of `work`. */
export async function withMachine<T>(
  api: Api,
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

export async function waitForDesktop(api: Api, id: string): Promise<void> {
  await waitFor(`the desktop of ${id} is up`, async () => {
    return (await api.call('GET', `/v1/machines/${id}/display`)).status === 200
  })
}

/** A session that holds the input lease for an hour. Its key may then leave out the session's id. */
export async function takeLease(
  api: Api,
  id: string,
): Promise<{ readonly sessionId: string; readonly fence: number }> {
  const session = await api.json<{ id: string }>('POST', '/v1/sessions', { machine_id: id })
  const wish = { session_id: session.id, ttl_seconds: 3600 }
  const path = `/v1/machines/${id}/input-lease`
  const { fence } = await api.json<{ fence: number }>('POST', path, wish)
  return { sessionId: session.id, fence }
}

/** Looks until it is so. */
export async function waitFor(
  what: string,
  look: () => Promise<boolean>,
  { everyMs = 20, boundMs = 120_000 } = {},
): Promise<void> {
  const deadline = performance.now() + boundMs
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`waited ${boundMs} ms in vain: ${what}`)
    await delay(everyMs)
  }
}
