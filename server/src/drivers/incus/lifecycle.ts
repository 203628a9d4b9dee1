import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, MachineFull, type MachineRef, type MachineSpec } from '../machine-driver.ts'
import { growDisk, sizeOf } from './disks/engine-limits.ts'
import { withTemporaryHeadroom } from './disks/headroom.ts'
import type { DiskLimits } from './disks/limits.ts'
import type { Engine } from './engine.ts'
import { isFrozen, thawMachine } from './freezer.ts'
import { bytesOf, diskSizeKey, limits, nameOf } from './instance.ts'
import {
  machineAbsent,
  changeState,
  findInstance,
  findSettled,
  isStatus,
  retryWhileChanging,
  forceStop,
  type Instance,
  type Instances,
} from './instances.ts'
import { asPoolFull } from './disks/capacity.ts'

/** A guest that has just begun to boot loses a stop request, so it is repeated, soon at first. */
const firstRequestMs = 1_000
const nextRequestMs = 3_000

export async function startMachine(engine: Engine, ref: MachineRef): Promise<void> {
  const name = nameOf(ref)
  await retryWhileChanging(async () => {
    try {
      await withTemporaryHeadroom(engine, name, () =>
        changeState(engine, name, { action: 'start' }),
      )
      return true
    } catch (error) {
      const found = await findInstance(engine, name)
      if (!found) throw machineAbsent(ref)
      if (await isFrozen(engine.freezer, found)) {
        await thawMachine(engine, ref)
        return true
      }
      if (isAlreadyRunning(error)) return hasProcess(engine, name)
      throw await explain(engine, name, error)
    }
  })
}

export async function stopMachine(engine: Engine, ref: MachineRef, graceMs: number): Promise<void> {
  const name = nameOf(ref)
  const running = await findInstance(engine, name)
  if (!running) throw machineAbsent(ref)
  // A frozen machine cannot react to a stop request.
  if (await isFrozen(engine.freezer, running)) await thawMachine(engine, ref)
  const deadline = Date.now() + graceMs
  let requestMs = firstRequestMs
  for (
    let leftMs = graceMs;
    leftMs > 0;
    leftMs = deadline - Date.now(), requestMs = nextRequestMs
  ) {
    const timeout = Math.ceil(Math.min(leftMs, requestMs) / 1000)
    try {
      return await changeState(engine, name, { action: 'stop', force: false, timeout })
    } catch (error) {
      const found = await findSettled(engine, name)
      if (!found) throw machineAbsent(ref)
      if (found.status === 'Stopped') return
      if (error instanceof DriverError && !error.retryable) await sleep(200)
    }
  }
  if (!(await findInstance(engine, name))) throw machineAbsent(ref)
  await forceStop(engine, name)
}

export async function resizeMachine(
  engine: Engine,
  diskLimits: DiskLimits,
  spec: MachineSpec,
): Promise<void> {
  const found = await findSettled(engine, nameOf(spec))
  if (!found) throw machineAbsent(spec)
  if (found.status !== 'Stopped') {
    throw new DriverError(`${spec.id} is running; stop it before it is resized`, {
      retryable: false,
    })
  }
  await setLimits(engine, diskLimits, found, spec)
}

/** Thaws a machine that was left frozen, and gives it the limits of its spec while it runs. */
export async function wakeMachine(
  engine: Engine,
  diskLimits: DiskLimits,
  spec: MachineSpec,
): Promise<void> {
  const name = nameOf(spec)
  const [found] = await Promise.all([findInstance(engine, name), engine.freezer.thaw(name)])
  if (!found) throw machineAbsent(spec)
  if (found.status === 'Frozen') await thawMachine(engine, spec)
  else if (found.status !== 'Running') {
    throw new DriverError(`${spec.id} does not run, so it cannot be woken`, { retryable: true })
  }
  if (!(await hasLimits(engine, found, spec))) await setLimits(engine, diskLimits, found, spec)
}

async function hasLimits(engine: Engine, found: Instance, spec: MachineSpec): Promise<boolean> {
  const wanted = limits(spec, await engine.readSettings())
  return (
    sizeOf(found) >= bytesOf(spec) &&
    Object.entries(wanted).every(([key, value]) => found.config[key] === value)
  )
}

/** A disk never shrinks. */
async function setLimits(
  engine: Engine,
  diskLimits: DiskLimits,
  found: Instance,
  spec: MachineSpec,
): Promise<void> {
  const { client, project } = engine
  const { name } = found
  const sizeBytes = Math.max(sizeOf(found), bytesOf(spec))
  if (!(await engine.openPool())) await growDisk(engine, found, sizeBytes)
  const settings = await engine.readSettings()
  const config = { ...limits(spec, settings), [diskSizeKey]: String(sizeBytes) }
  await withTemporaryHeadroom(engine, name, () =>
    client.change('PATCH', `/1.0/instances/${name}`, { query: { project }, body: { config } }),
  )
  if (sizeBytes > sizeOf(found)) await diskLimits.refreshLimit(name)
}

/** The engine's error for a failed start names only its own command; LXC's log has the reason. */
async function explain(instances: Instances, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof DriverError) || error instanceof MachineFull || isStatus(error, 404)) {
    return error
  }
  const full = asPoolFull(error)
  if (full !== error) return full
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

/** The engine reports a machine that is going down as running, but its process is gone. */
async function hasProcess({ client, project }: Instances, name: string): Promise<boolean> {
  try {
    const path = `/1.0/instances/${name}/state`
    const { pid } = await client.get<{ pid: number }>(path, { query: { project } })
    return pid > 0
  } catch (error) {
    // At that moment the engine fails to find the process.
    if (isStatus(error, 500)) return false
    throw error
  }
}

function isAlreadyRunning(error: unknown): boolean {
  return error instanceof Error && /already running/i.test(error.message)
}
