import type { CaptureId } from '@computer/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DriverError,
  type CaptureSize,
  type EngineCapture,
  type MachineRef,
} from '../machine-driver.ts'
import { raiseLimit, readUsedBytes } from './disks/size.ts'
import { measureHeld, measureOwn, readDisks } from './disks/measure.ts'
import type { Engine } from './engine.ts'
import { thawMachine } from './freezer.ts'
import { diskFolder, exists, type HostPool } from './disks/host-pool.ts'
import { captureBody, captureIdOf, captureNameOf, nameOf } from './instance.ts'
import {
  absent,
  findInstance,
  imageOf,
  isStatus,
  listInstances,
  makeInstance,
  memberOf,
  removeInstance,
  type Instance,
} from './instances.ts'
import { ensureRoom, explainFull } from './disks/capacity.ts'

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
  const capture = captureNameOf(id)
  const pool = await engine.openPool()
  try {
    const writtenBytes = pool
      ? await captureOnHost(engine, pool, ref, capture)
      : await captureByEngine(engine, ref, capture)
    return { writtenBytes }
  } catch (error) {
    throw isStatus(error, 404) ? absent(ref) : explainFull(error)
  }
}

/** What a capture holds beyond its image. It stays the same, so it is measured once. */
export async function readHeldBytes(
  engine: Engine,
  pool: HostPool,
  capture: Instance,
): Promise<number> {
  const known = engine.heldBytes.get(capture.name)
  if (known !== undefined) return known
  const { captures, images } = await readDisks(pool)
  const disk = captures.get(capture.name)
  if (!disk) throw new DriverError(`there is no disk of ${capture.name}`, { retryable: true })
  const bytes = await measureHeld(pool, capture.name, disk, images.get(imageOf(capture)))
  engine.heldBytes.set(capture.name, bytes)
  return bytes
}

export async function listCaptures(engine: Engine): Promise<readonly EngineCapture[]> {
  return (await listInstances(engine)).flatMap(({ name, created_at }) => {
    const id = captureIdOf(name)
    return id === undefined ? [] : [{ id, createdAt: new Date(created_at) }]
  })
}

async function captureOnHost(
  engine: Engine,
  pool: HostPool,
  ref: MachineRef,
  capture: string,
): Promise<number> {
  const name = nameOf(ref)
  // Of what is in the pool only the machine is asked for, so it is read while the copy is made.
  const reading = readDisks(pool)
  reading.catch(() => {})
  await makeInstance(engine, capture, async () => {
    await ensureRoom(engine.client, engine.config)
    const folder = diskFolder(pool, capture)
    // What an earlier call left there would be taken for ours.
    const isLeft = await exists(folder)
    await copyAtOneInstant(engine, ref, capture, {
      isCopied: (copying) => (isLeft ? copying : appears(folder, copying)),
    })
  })
  const machine = (await reading).machines.find(({ instance }) => instance === name)
  if (!machine) throw new DriverError(`the disk of ${name} is gone`, { retryable: true })
  const bytes = await measureOwn(pool, machine, capture)
  if (!machine.inherits) engine.heldBytes.set(capture, bytes)
  return bytes
}

/** Where the disk cannot be measured, what its machine is charged with is noted on the capture. */
async function captureByEngine(engine: Engine, ref: MachineRef, capture: string): Promise<number> {
  const name = nameOf(ref)
  await makeInstance(engine, capture, async () => {
    await ensureRoom(engine.client, engine.config)
    const machine = await findInstance(engine, name)
    if (!machine) throw absent(ref)
    const usedBytes = await readUsedBytes(engine, name)
    // Not afterwards, when a full disk could not be emptied if this is refused.
    await raiseLimit(engine, machine, usedBytes)
    const notes = { [writtenKey]: String(usedBytes) }
    await copyAtOneInstant(engine, ref, capture, { member: memberOf(machine), notes })
  })
  const made = await findInstance(engine, capture)
  return Number(made?.config[writtenKey] ?? 0)
}

type CopyOptions = {
  readonly member?: { readonly target?: string }
  readonly notes?: Readonly<Record<string, string>>
  /** Resolves when the disk is copied, before the engine has ended. */
  readonly isCopied?: (copying: Promise<void>) => Promise<void>
}

async function copyAtOneInstant(
  engine: Engine,
  ref: MachineRef,
  capture: string,
  { member, notes, isCopied = (copying) => copying }: CopyOptions,
): Promise<void> {
  const machine = nameOf(ref)
  const { config, ...body } = captureBody(engine.config)
  const hold = await engine.freezer.freeze(machine)
  let isOfOneInstant = true
  let copying: Promise<void>
  try {
    copying = engine.client.change('POST', '/1.0/instances', {
      query: { project: engine.project, ...member },
      body: {
        ...body,
        name: capture,
        config: { ...config, ...notes },
        source: { type: 'copy', source: machine, instance_only: true },
      },
    })
    copying.catch(() => {})
    await isCopied(copying)
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
