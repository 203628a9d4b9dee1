import { DriverError, type MachineRef } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { EngineError, type Operation } from './replies.ts'

/** The instances of one project, by name. Asking for what already holds is a success. */
export type Instances = { readonly client: IncusClient; readonly project: string }

export type Instance = {
  readonly name: string
  readonly status: string
  readonly created_at: string
  readonly config: Readonly<Record<string, string>>
  readonly devices: Readonly<Record<string, Readonly<Record<string, string>>>>
}

export async function findInstance(
  { client, project }: Instances,
  name: string,
): Promise<Instance | undefined> {
  try {
    return await client.get<Instance>(`/1.0/instances/${name}`, { query: { project } })
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    throw error
  }
}

export function listInstances({ client, project }: Instances): Promise<readonly Instance[]> {
  return client.get<Instance[]>('/1.0/instances', { query: { project, recursion: 1 } })
}

/** A daemon that died while it made an instance leaves one that never got its disk. */
export function isComplete(instance: Instance): boolean {
  const { config } = instance
  return 'volatile.apply_template' in config || 'volatile.last_state.power' in config
}

export async function changeState(
  { client, project }: Instances,
  name: string,
  body: { readonly action: string; readonly timeout?: number; readonly force?: boolean },
): Promise<void> {
  const timeoutMs = 60_000 + (body.timeout ?? 0) * 1000
  const path = `/1.0/instances/${name}/state`
  await client.change('PUT', path, { query: { project }, body, timeoutMs })
}

export async function stopByForce(instances: Instances, name: string): Promise<void> {
  try {
    await changeState(instances, name, { action: 'stop', force: true, timeout: 30 })
  } catch (error) {
    if (isStatus(error, 404)) return
    const now = await findInstance(instances, name)
    if (now && now.status !== 'Stopped') throw error
  }
}

/** Removes an instance in whatever state. */
export async function removeInstance(instances: Instances, name: string): Promise<void> {
  const { client, project } = instances
  const remove = () => client.change('DELETE', `/1.0/instances/${name}`, { query: { project } })
  try {
    await remove()
  } catch (error) {
    if (isStatus(error, 404)) return
    // The common reason is that it runs; asking first would cost every other removal a call.
    const now = await findInstance(instances, name)
    if (!now) return
    if (now.status === 'Stopped') throw error
    await stopByForce(instances, name)
    await remove().catch((again: unknown) => {
      if (!isStatus(again, 404)) throw again
    })
  }
}

/** What the engine is doing to an instance at this moment, by whomever it was asked. */
export async function runningOperations({ client }: Instances): Promise<readonly Operation[]> {
  const query = { recursion: 1, 'all-projects': 'true' }
  const byStatus = await client.get<Record<string, Operation[]>>('/1.0/operations', { query })
  return Object.values(byStatus)
    .flat()
    .filter((operation) => operation.class === 'task' && operation.status_code < 200)
}

export function concerns(operation: Operation, name: string): boolean {
  const urls = Object.values(operation.resources ?? {}).flat()
  return urls.some((url) => new URL(url, 'http://engine').pathname.endsWith(`/instances/${name}`))
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof EngineError && error.status === status
}

/** Nobody but the caller can know that the machine should be there. */
export function absent(ref: MachineRef): DriverError {
  const message = `the engine has no machine ${ref.id}, generation ${ref.generation}`
  return new DriverError(message, { retryable: false })
}
