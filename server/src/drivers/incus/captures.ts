import type { CaptureId } from '@computer/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DriverError,
  type CaptureSize,
  type EngineCapture,
  type MachineRef,
} from '../machine-driver.ts'
import { raiseLimit, readUsedBytes } from './disk.ts'
import type { Engine } from './engine.ts'
import { thawMachine } from './freezer.ts'
import { captureBody, captureIdOf, captureNameOf, nameOf } from './instance.ts'
import {
  absent,
  findInstance,
  isStatus,
  listInstances,
  makeInstance,
  memberOf,
  removeInstance,
} from './instances.ts'
import { diskFolder, exists, type HostPool } from './host-pool.ts'
import { ensureRoom, explainFull } from './room.ts'
import { measureOwn } from './disks.ts'

/*
 * A capture is a stopped instance: a copy-on-write copy of a machine's disk. A plain copy of a running
 * machine finds its newest files empty, so the machine is frozen; on the engine's own host only until
 * the disk of the copy is there, for the engine then goes on for a while with books of its own.
 */

/** What the machine had written, where its disk cannot be measured. */
const writtenKey = 'user.written_bytes'

export async function captureMachine(
  engine: Engine,
  ref: MachineRef,
  id: CaptureId,
): Promise<CaptureSize> {
  const machine = nameOf(ref)
  const capture = captureNameOf(id)
  const pool = await engine.openPool()
  try {
    await makeInstance(engine, capture, async () => {
      await ensureRoom(engine.client, engine.place)
      const notes = pool ? {} : { [writtenKey]: String(await readUsedBytes(engine, machine)) }
      await copyAtOneInstant(engine, pool, ref, capture, notes)
    })
    return { writtenBytes: await readWritten(engine, pool, machine, capture) }
  } catch (error) {
    throw isStatus(error, 404) ? absent(ref) : explainFull(error)
  }
}

export async function listCaptures(engine: Engine): Promise<readonly EngineCapture[]> {
  return (await listInstances(engine)).flatMap(({ name, created_at }) => {
    const id = captureIdOf(name)
    return id === undefined ? [] : [{ id, createdAt: new Date(created_at) }]
  })
}

async function readWritten(
  engine: Engine,
  pool: HostPool | undefined,
  machine: string,
  capture: string,
): Promise<number> {
  if (pool) {
    const ownBytes = await measureOwn(pool, machine, capture)
    if (ownBytes !== undefined) return ownBytes
    throw new DriverError(`the disk of ${capture} or ${machine} is gone`, { retryable: true })
  }
  await raiseLimit(engine, machine)
  const made = await findInstance(engine, capture)
  return Number(made?.config[writtenKey] ?? 0)
}

async function copyAtOneInstant(
  engine: Engine,
  pool: HostPool | undefined,
  ref: MachineRef,
  capture: string,
  notes: Readonly<Record<string, string>>,
): Promise<void> {
  const machine = nameOf(ref)
  const disk = pool && diskFolder(pool, capture)
  // What an earlier call left there would be taken for ours.
  const isSeen = disk !== undefined && !(await exists(disk))
  const source = pool ? undefined : await findInstance(engine, machine)
  const { config, ...body } = captureBody(engine.place)
  const hold = await engine.freezer.freeze(machine)
  let isOfOneInstant = true
  let copying: Promise<void>
  try {
    copying = engine.client.change('POST', '/1.0/instances', {
      query: { project: engine.project, ...(source && memberOf(source)) },
      body: {
        ...body,
        name: capture,
        config: { ...config, ...notes },
        source: { type: 'copy', source: machine, instance_only: true },
      },
    })
    await (hold && isSeen ? Promise.race([copying, appears(disk, copying)]) : copying)
    isOfOneInstant = hold === undefined || (await hold.holds())
  } finally {
    await hold?.release()
    // The engine may know of it, too, if it was not us who froze it.
    if (hold?.wasFrozen) await thawMachine(engine, ref)
  }
  await copying
  if (isOfOneInstant) return
  await removeInstance(engine, capture)
  throw new DriverError('the machine was woken while it was captured', { retryable: true })
}

/** Resolves when the folder is there, or nobody makes it any more. */
async function appears(folder: string, making: Promise<void>): Promise<void> {
  let isOver = false
  const end = () => (isOver = true)
  making.then(end, end)
  while (!isOver && !(await exists(folder))) await sleep(1)
}
