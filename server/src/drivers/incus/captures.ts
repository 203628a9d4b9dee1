import type { CaptureId } from '@computer/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DriverError,
  type CaptureSize,
  type EngineCapture,
  type MachineRef,
} from '../machine-driver.ts'
import { raiseLimit, readUsedBytes } from './disks/engine-limits.ts'
import { measureContent, measureCapture, readDisks } from './disks/measure.ts'
import type { Engine } from './engine.ts'
import { thawMachine } from './freezer.ts'
import { diskFolder, exists, type HostPool } from './disks/host-pool.ts'
import { captureBody, captureIdOf, captureNameOf, nameOf } from './instance.ts'
import {
  machineAbsent,
  findInstance,
  imageOf,
  isStatus,
  listInstances,
  makeInstance,
  memberOf,
  removeInstance,
  type Instance,
} from './instances.ts'
import { requireFreeSpace, asPoolFull } from './disks/capacity.ts'

/*
 * A capture is a stopped instance: a copy-on-write copy of a machine's disk. In a plain copy of a
 * running machine the newest files are empty, so the machine is frozen meanwhile. On the engine's own
 * host it is thawed as soon as the copied disk exists, because the engine then spends a while on its
 * own records.
 */

/** The bytes that the machine had written, where its disk cannot be measured. */
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
    throw isStatus(error, 404) ? machineAbsent(ref) : asPoolFull(error)
  }
}

/** The content of a capture beyond its image. It never changes, so it is measured once. */
export async function readContentBytes(
  engine: Engine,
  pool: HostPool,
  capture: Instance,
): Promise<number> {
  const known = engine.captureContentBytes.get(capture.name)
  if (known !== undefined) return known
  const { captures, images } = await readDisks(pool)
  const disk = captures.get(capture.name)
  if (!disk) throw new DriverError(`${capture.name} has no disk in the pool`, { retryable: true })
  const bytes = await measureContent(pool, capture.name, disk, images.get(imageOf(capture)))
  engine.captureContentBytes.set(capture.name, bytes)
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
  // Only the machine's own disk is needed, so the pool can be read while the copy is made.
  const reading = readDisks(pool)
  reading.catch(() => {})
  await makeInstance(engine, capture, async () => {
    await requireFreeSpace(engine.client, engine.config)
    const folder = diskFolder(pool, capture)
    // A folder that an earlier call left would be taken for the new copy.
    const isLeftover = await exists(folder)
    await copyWhileFrozen(engine, ref, capture, {
      isCopied: (copying) => (isLeftover ? copying : waitForFolder(folder, copying)),
    })
  })
  const machine = (await reading).machines.find(({ instance }) => instance === name)
  if (!machine) throw new DriverError(`the disk of ${name} is gone`, { retryable: true })
  const bytes = await measureCapture(pool, machine, capture)
  if (!machine.inherits) engine.captureContentBytes.set(capture, bytes)
  return bytes
}

/** Where the disk cannot be measured, the capture records the bytes that its machine is charged for. */
async function captureByEngine(engine: Engine, ref: MachineRef, capture: string): Promise<number> {
  const name = nameOf(ref)
  await makeInstance(engine, capture, async () => {
    await requireFreeSpace(engine.client, engine.config)
    const machine = await findInstance(engine, name)
    if (!machine) throw machineAbsent(ref)
    const usedBytes = await readUsedBytes(engine, name)
    // Before the copy: if this is refused afterwards, a full disk could not be emptied any more.
    await raiseLimit(engine, machine, usedBytes)
    const record = { [writtenKey]: String(usedBytes) }
    await copyWhileFrozen(engine, ref, capture, { member: memberOf(machine), record })
  })
  const made = await findInstance(engine, capture)
  return Number(made?.config[writtenKey] ?? 0)
}

type CopyOptions = {
  readonly member?: { readonly target?: string }
  readonly record?: Readonly<Record<string, string>>
  /** Resolves when the disk is copied, which may be before the engine's operation ends. */
  readonly isCopied?: (copying: Promise<void>) => Promise<void>
}

async function copyWhileFrozen(
  engine: Engine,
  ref: MachineRef,
  capture: string,
  { member = {}, record, isCopied = (copying) => copying }: CopyOptions,
): Promise<void> {
  const machine = nameOf(ref)
  const { config, ...body } = captureBody(engine.config)
  const query = { project: engine.project, ...member, ...(await engine.readTarget()) }
  const hold = await engine.freezer.freeze(machine)
  let isConsistent = true
  let copying: Promise<void>
  try {
    copying = engine.client.change('POST', '/1.0/instances', {
      query,
      body: {
        ...body,
        name: capture,
        config: { ...config, ...record },
        source: { type: 'copy', source: machine, instance_only: true },
      },
    })
    copying.catch(() => {})
    await isCopied(copying)
    isConsistent = hold === undefined || (await hold.isStillFrozen())
  } finally {
    await hold?.release()
    // If somebody else had frozen it, the engine may have to thaw it as well.
    if (hold?.wasFrozen) await thawMachine(engine, ref)
  }
  await copying
  if (isConsistent) return
  await removeInstance(engine, capture)
  throw new DriverError('the machine was thawed during the capture', { retryable: true })
}

/** Resolves when the folder exists, or when its maker has ended. */
async function waitForFolder(folder: string, making: Promise<void>): Promise<void> {
  let isOver = false
  const end = () => (isOver = true)
  making.then(end, end)
  while (!isOver && !(await exists(folder))) await sleep(1)
}
