import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { EngineError, type Operation } from './replies.ts'

/** The instances of one project, by name. Asking for what already holds is a success. */
export type Instances = { readonly client: IncusClient; readonly project: string }

export type Instance = {
  readonly name: string
  readonly status: string
  /** The member of a cluster; `none` where there is none. */
  readonly location: string
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

/**
 * Makes an instance that is not there. Of one that is, an earlier call may still be at work; what it
 * leaves half made is made anew.
 */
export async function makeInstance(
  instances: Instances,
  name: string,
  make: () => Promise<void>,
): Promise<void> {
  try {
    await make()
  } catch (error) {
    const found = await findInstance(instances, name)
    if (!found) throw error
    if (isComplete(found)) return
    await settle(instances, name)
    const settled = await findInstance(instances, name)
    if (settled && isComplete(settled)) return
    if (settled) await removeInstance(instances, name)
    await make()
  }
}

/** The fingerprint of the image that an instance's disk began with, by however many copies. */
export function imageOf({ config }: Instance): string {
  return config['volatile.base_image'] ?? ''
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
  await repeat(async () => {
    try {
      await changeState(instances, name, { action: 'stop', force: true, timeout: 30 })
      return true
    } catch (error) {
      const now = await findInstance(instances, name)
      if (!now || now.status === 'Stopped') return true
      return asLongAsRetryable(error)
    }
  })
}

/** Removes an instance in whatever state. */
export async function removeInstance(instances: Instances, name: string): Promise<void> {
  const { client, project } = instances
  await repeat(async () => {
    try {
      await client.change('DELETE', `/1.0/instances/${name}`, { query: { project } })
      return true
    } catch (error) {
      // The common reason is that it runs; asking first would cost every other removal a call.
      const now = await findInstance(instances, name)
      if (!now) return true
      if (now.status !== 'Stopped') await stopByForce(instances, name)
      return asLongAsRetryable(error)
    }
  })
}

/**
 * While an instance goes down, the engine says that it is stopped, running and stopped again. It notes
 * the end when all is done, so what is `Stopped` without that note is looked at until it is sure. One
 * that ended while the daemon was down never gets the note, and stays `Stopped`.
 */
export async function findSettled(
  instances: Instances,
  name: string,
): Promise<Instance | undefined> {
  let found = await findInstance(instances, name)
  for (let tries = 0; tries < 10 && found && isUnsure(found); tries++) {
    await sleep(50)
    found = await findInstance(instances, name)
  }
  return found
}

export async function listSettled(instances: Instances): Promise<readonly Instance[]> {
  let list = await listInstances(instances)
  for (let tries = 0; tries < 10 && list.some(isUnsure); tries++) {
    await sleep(50)
    const again = new Map((await listInstances(instances)).map((one) => [one.name, one]))
    // One that was seen running since is not at rest, whatever it is seen as next.
    list = list.flatMap((one) => (isUnsure(one) ? (again.get(one.name) ?? []) : one))
  }
  return list
}

function isUnsure({ status, config }: Instance): boolean {
  return status === 'Stopped' && config['volatile.last_state.power'] === 'RUNNING'
}

/** Repeats what an instance that just changes its state refuses, for some seconds. */
export async function repeat(attempt: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await attempt())) {
    if (Date.now() > deadline) {
      throw new DriverError('the machine does not come to rest', { retryable: true })
    }
    await sleep(50)
  }
}

function asLongAsRetryable(error: unknown): false {
  if (error instanceof DriverError && (error.retryable || isStatus(error, 400))) return false
  throw error
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

/** A cluster copies on write only where the original lies. Without one it knows no members. */
export function memberOf({ location }: Instance): { readonly target?: string } {
  return location === 'none' ? {} : { target: location }
}

/** Waits for what the engine still does to an instance, asked by a caller that is gone. */
export async function settle(instances: Instances, name: string): Promise<void> {
  for (const operation of await runningOperations(instances)) {
    if (!concerns(operation, name)) continue
    // How it ends is seen in the instance.
    await instances.client.waitFor(operation, 600_000).catch(() => {})
  }
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof EngineError && error.status === status
}

/** Nobody but the caller can know that the machine should be there. */
export function absent(ref: MachineRef): DriverError {
  const message = `the engine has no machine ${ref.id}, generation ${ref.generation}`
  return new DriverError(message, { retryable: false })
}
