import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef, type MachineSpec } from '../machine-driver.ts'
import { evenIfFull, growByEngine, sizeOf } from './disks/size.ts'
import type { DiskLimits } from './disks/limits.ts'
import type { Engine } from './engine.ts'
import { isFrozen, thawMachine } from './freezer.ts'
import { bytesOf, diskSizeKey, limits, nameOf } from './instance.ts'
import {
  absent,
  changeState,
  findInstance,
  findSettled,
  isStatus,
  repeat,
  stopByForce,
  type Instances,
} from './instances.ts'
import { explainFull } from './disks/capacity.ts'

/** A guest that has just begun to boot loses the request to stop, so it is asked again, soon at first. */
const firstAskMs = 1_000
const nextAskMs = 3_000

export async function startMachine(engine: Engine, ref: MachineRef): Promise<void> {
  const name = nameOf(ref)
  await repeat(async () => {
    try {
      await evenIfFull(engine, name, () => changeState(engine, name, { action: 'start' }))
      return true
    } catch (error) {
      const found = await findInstance(engine, name)
      if (!found) throw absent(ref)
      if (await isFrozen(engine.freezer, found)) {
        await thawMachine(engine, ref)
        return true
      }
      if (isAlreadyRunning(error)) return isAlive(engine, name)
      throw await explain(engine, name, error)
    }
  })
}

export async function stopMachine(engine: Engine, ref: MachineRef, graceMs: number): Promise<void> {
  const name = nameOf(ref)
  const running = await findInstance(engine, name)
  if (!running) throw absent(ref)
  // Frozen, it cannot hear us.
  if (await isFrozen(engine.freezer, running)) await thawMachine(engine, ref)
  const deadline = Date.now() + graceMs
  let askMs = firstAskMs
  for (let leftMs = graceMs; leftMs > 0; leftMs = deadline - Date.now(), askMs = nextAskMs) {
    const timeout = Math.ceil(Math.min(leftMs, askMs) / 1000)
    try {
      return await changeState(engine, name, { action: 'stop', force: false, timeout })
    } catch (error) {
      const found = await findSettled(engine, name)
      if (!found) throw absent(ref)
      if (found.status === 'Stopped') return
      if (error instanceof DriverError && !error.retryable) await sleep(200)
    }
  }
  if (!(await findInstance(engine, name))) throw absent(ref)
  await stopByForce(engine, name)
}

export async function resizeMachine(
  engine: Engine,
  diskLimits: DiskLimits,
  spec: MachineSpec,
): Promise<void> {
  const { client, project } = engine
  const name = nameOf(spec)
  const found = await findSettled(engine, name)
  if (!found) throw absent(spec)
  if (found.status !== 'Stopped') {
    throw new DriverError(`${spec.id} runs: only a stopped machine is resized`, {
      retryable: false,
    })
  }
  const sizeBytes = Math.max(sizeOf(found), bytesOf(spec))
  if (!(await engine.openPool())) await growByEngine(engine, found, sizeBytes)
  const settings = await engine.readSettings()
  const config = { ...limits(spec, settings), [diskSizeKey]: String(sizeBytes) }
  await evenIfFull(engine, name, () =>
    client.change('PATCH', `/1.0/instances/${name}`, { query: { project }, body: { config } }),
  )
  if (sizeBytes > sizeOf(found)) await diskLimits.settle(name)
}

/** The engine's message of a failed start only names its own command; LXC's log has the reason. */
async function explain(instances: Instances, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof DriverError) || isStatus(error, 404)) return error
  const full = explainFull(error)
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
