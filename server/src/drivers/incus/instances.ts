import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { abortFuse } from './fuse.ts'
import { EngineError, type Operation } from './replies.ts'

/** The instances of one project. Asking for a state that already holds is a success. */
export type Instances = {
  readonly client: IncusClient
  readonly project: string
  /** The instances run on this host, so their processes can be reached. */
  readonly isOnHost?: boolean
}

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

/** A daemon that died while it made an instance leaves one without a disk. */
export function isComplete(instance: Instance): boolean {
  const { config } = instance
  return 'volatile.apply_template' in config || 'volatile.last_state.power' in config
}

/**
 * Makes an instance unless it exists. If an earlier call is still making it, waits for that call, and
 * replaces an instance that was left incomplete.
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
    await waitForOperations(instances, name)
    const settled = await findInstance(instances, name)
    if (settled && isComplete(settled)) return
    if (settled) await removeInstance(instances, name)
    await make()
  }
}

/** The fingerprint of the image that an instance's disk derives from, through any number of copies. */
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

export async function forceStop(instances: Instances, name: string): Promise<void> {
  const stopping = retryWhileChanging(async () => {
    try {
      await changeState(instances, name, { action: 'stop', force: true, timeout: 30 })
      return true
    } catch (error) {
      const now = await findInstance(instances, name)
      if (!now || now.status === 'Stopped') return true
      return requireRetryable(error)
    }
  })
  await (instances.isOnHost ? endStuckProcesses(instances, name, stopping) : stopping)
}

const stuckAfterMs = 1_000

/** Ends what keeps killed processes from ending, while a stop takes long. */
async function endStuckProcesses(
  instances: Instances,
  name: string,
  stopping: Promise<void>,
): Promise<void> {
  const end = async () => {
    const found = await findInstance(instances, name)
    const uidBase = Number(found?.config['security.idmap.base'])
    if (uidBase > 0) await abortFuse(uidBase)
  }
  const timer = setInterval(() => void end().catch(() => {}), stuckAfterMs)
  try {
    await stopping
  } finally {
    clearInterval(timer)
  }
}

/** Removes an instance in any state. */
export async function removeInstance(instances: Instances, name: string): Promise<void> {
  const { client, project } = instances
  await retryWhileChanging(async () => {
    try {
      await client.change('DELETE', `/1.0/instances/${name}`, { query: { project } })
      return true
    } catch (error) {
      // It usually fails because the instance runs. Checking first would cost every removal a call.
      const now = await findInstance(instances, name)
      if (!now) return true
      if (now.status !== 'Stopped') await forceStop(instances, name)
      return requireRetryable(error)
    }
  })
}

/**
 * While an instance goes down, the engine reports it as stopped, running and stopped again, and then
 * records its last state. So an instance that is `Stopped` without that record is polled for a moment.
 * An instance that ended while the daemon was down never gets the record, and stays `Stopped`.
 */
export async function findSettled(
  instances: Instances,
  name: string,
): Promise<Instance | undefined> {
  let found = await findInstance(instances, name)
  for (let tries = 0; tries < 10 && found && isMaybeStopping(found); tries++) {
    await sleep(50)
    found = await findInstance(instances, name)
  }
  return found
}

export async function listSettled(instances: Instances): Promise<readonly Instance[]> {
  let list = await listInstances(instances)
  for (let tries = 0; tries < 10 && list.some(isMaybeStopping); tries++) {
    await sleep(50)
    const again = new Map((await listInstances(instances)).map((one) => [one.name, one]))
    // An instance that was running in a later listing is not stopped, whatever the next one shows.
    list = list.flatMap((one) => (isMaybeStopping(one) ? (again.get(one.name) ?? []) : one))
  }
  return list
}

function isMaybeStopping({ status, config }: Instance): boolean {
  return status === 'Stopped' && config['volatile.last_state.power'] === 'RUNNING'
}

/** Retries, for some seconds, a call that an instance refuses while it changes its state. */
export async function retryWhileChanging(attempt: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    // Measured before the attempt: after a slow one, such as a forced stop on a busy disk, the call
    // that it made possible still follows.
    const isLast = Date.now() > deadline
    if (await attempt()) return
    if (isLast) {
      throw new DriverError('the machine keeps changing its state', { retryable: true })
    }
    await sleep(50)
  }
}

function requireRetryable(error: unknown): false {
  if (error instanceof DriverError && (error.retryable || isStatus(error, 400))) return false
  throw error
}

/** The operations that the engine is running, for any of its clients. */
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

/** A cluster can copy on write only on the member that has the original. */
export function memberOf({ location }: Instance): { readonly target?: string } {
  return location === 'none' ? {} : { target: location }
}

/** Waits for operations on an instance that another caller has started. */
export async function waitForOperations(instances: Instances, name: string): Promise<void> {
  for (const operation of await runningOperations(instances)) {
    if (!concerns(operation, name)) continue
    // Its outcome shows in the instance.
    await instances.client.waitFor(operation, 600_000).catch(() => {})
  }
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof EngineError && error.status === status
}

/** Final: the caller alone decides whether the machine should exist. */
export function machineAbsent(ref: MachineRef): DriverError {
  const message = `the engine has no machine ${ref.id}, generation ${ref.generation}`
  return new DriverError(message, { retryable: false })
}
