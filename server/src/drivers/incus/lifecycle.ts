import { setTimeout as sleep } from 'node:timers/promises'
import { ImageMissing, DriverError, type MachineRef, type MachineSpec } from '../machine-driver.ts'
import { evenIfFull, growDisk } from './disk.ts'
import { findImage } from './images.ts'
import { aliasOf, instanceBody, limits, nameOf, type InstanceSettings } from './instance.ts'
import {
  absent,
  changeState,
  findInstance,
  findSettled,
  isComplete,
  isStatus,
  removeInstance,
  repeat,
  settle,
  stopByForce,
  type Instances,
} from './instances.ts'

/** A guest that has just begun to boot loses the request to stop, so it is asked again, soon at first. */
const firstAskMs = 1_000
const nextAskMs = 3_000

export async function createMachine(
  instances: Instances,
  settings: InstanceSettings,
  spec: MachineSpec,
): Promise<void> {
  const { client, project } = instances
  const name = nameOf(spec)
  const source = { type: 'image', alias: aliasOf(spec.imageId) }
  const body = { name, ...instanceBody(spec, settings), source }
  const make = () => client.change('POST', '/1.0/instances', { query: { project }, body })
  try {
    await make()
  } catch (error) {
    const found = await findInstance(instances, name)
    if (!found) throw await explainCreate(instances, spec, error)
    if (isComplete(found)) return
    await settle(instances, name)
    const settled = await findInstance(instances, name)
    if (settled && isComplete(settled)) return
    if (settled) await removeInstance(instances, name)
    await make()
  }
}

export async function startMachine(instances: Instances, ref: MachineRef): Promise<void> {
  const name = nameOf(ref)
  await repeat(async () => {
    try {
      await evenIfFull(instances, name, () => changeState(instances, name, { action: 'start' }))
      return true
    } catch (error) {
      const found = await findInstance(instances, name)
      if (!found) throw absent(ref)
      if (found.status === 'Frozen') return thaw(instances, name)
      if (isAlreadyRunning(error)) return isAlive(instances, name)
      throw await explain(instances, name, error)
    }
  })
}

export async function stopMachine(
  instances: Instances,
  ref: MachineRef,
  graceMs: number,
): Promise<void> {
  const name = nameOf(ref)
  const deadline = Date.now() + graceMs
  let askMs = firstAskMs
  for (let leftMs = graceMs; leftMs > 0; leftMs = deadline - Date.now(), askMs = nextAskMs) {
    const timeout = Math.ceil(Math.min(leftMs, askMs) / 1000)
    try {
      return await changeState(instances, name, { action: 'stop', force: false, timeout })
    } catch (error) {
      const found = await findInstance(instances, name)
      if (!found) throw absent(ref)
      if (found.status === 'Stopped') return
      // Frozen, it cannot hear us.
      if (found.status === 'Frozen') await changeState(instances, name, { action: 'unfreeze' })
      else if (error instanceof DriverError && !error.retryable) await sleep(200)
    }
  }
  if (!(await findInstance(instances, name))) throw absent(ref)
  await stopByForce(instances, name)
}

export async function resizeMachine(
  instances: Instances,
  settings: InstanceSettings,
  spec: MachineSpec,
): Promise<void> {
  const { client, project } = instances
  const name = nameOf(spec)
  const found = await findSettled(instances, name)
  if (!found) throw absent(spec)
  if (found.status !== 'Stopped') {
    throw new DriverError(`${spec.id} runs: only a stopped machine is resized`, {
      retryable: false,
    })
  }
  await growDisk(instances, found, spec.diskGb)
  const query = { project }
  const body = { config: limits(spec, settings) }
  await evenIfFull(instances, name, () =>
    client.change('PATCH', `/1.0/instances/${name}`, { query, body }),
  )
}

/** That the image is missing is final; the engine's own refusal does not tell. */
async function explainCreate(
  { client }: Instances,
  spec: MachineSpec,
  error: unknown,
): Promise<unknown> {
  if (await findImage(client, spec.imageId)) return error
  return new ImageMissing(spec.imageId, { cause: error })
}

/** The engine's message of a failed start only names its own command; LXC's log has the reason. */
async function explain(instances: Instances, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof DriverError) || isStatus(error, 404)) return error
  const log = await readLog(instances, name).catch(() => '')
  const reasons = log
    .split('\n')
    .flatMap((line) => / ERROR +\S+ - \S+ - (.*)/.exec(line)?.[1] ?? [])
  if (reasons.length === 0) return error
  const message = `${error.message}: ${reasons.slice(0, 3).join('; ')}`
  return new DriverError(message, { cause: error, retryable: error.retryable })
}

export function readLog({ client, project }: Instances, name: string): Promise<string> {
  return client.text(`/1.0/instances/${name}/logs/lxc.log`, { project })
}

async function thaw(instances: Instances, name: string): Promise<true> {
  await changeState(instances, name, { action: 'unfreeze' })
  return true
}

/** One that is going down counts as running, but has no process any more. */
async function isAlive({ client, project }: Instances, name: string): Promise<boolean> {
  try {
    const path = `/1.0/instances/${name}/state`
    const { pid } = await client.get<{ pid: number }>(path, { query: { project } })
    return pid > 0
  } catch (error) {
    // The engine cannot find its own process at that moment.
    if (isStatus(error, 500)) return false
    throw error
  }
}

function isAlreadyRunning(error: unknown): boolean {
  return error instanceof Error && /already running/i.test(error.message)
}
