import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef } from '../machine-driver.ts'
import { nameOf } from './instance.ts'
import {
  machineAbsent,
  changeState,
  concerns,
  findInstance,
  isStatus,
  runningOperations,
  type Instance,
  type Instances,
} from './instances.ts'
import { storageName } from './disks/host-pool.ts'
import { findPayloadGroup, readEvents } from './payload-group.ts'
import { describeUnfrozen } from './unfrozen.ts'

/**
 * Freezes all processes of a machine while its disk is copied. On the engine's own host this uses the
 * kernel's freezer directly, because on a host with cgroup v1 the engine polls only once a second
 * whether all processes are frozen. The engine then does not know of it, so whether a machine is
 * frozen must be asked of both.
 */
export type Freezer = {
  /** Waits while another caller has the machine frozen. Undefined if it does not run. */
  freeze(instance: string): Promise<FreezeHold | undefined>
  /** Freezes the machine for good, until somebody thaws it. False if it does not run. */
  keepFrozen(instance: string): Promise<boolean>
  /** According to the kernel. False where the kernel cannot be asked. */
  isFrozen(instance: string): Promise<boolean>
  /** Through the kernel. Does nothing where the kernel cannot be asked. */
  thaw(instance: string): Promise<void>
}

export type FreezeHold = {
  /** It was frozen already. */
  readonly wasFrozen: boolean
  /** False if somebody has thawed it meanwhile. */
  isStillFrozen(): Promise<boolean>
  release(): Promise<void>
}

export function createFreezer(instances: Instances): Freezer {
  const holders = new Map<string, Promise<void>>()
  return {
    async freeze(instance) {
      const held = await holdAlone(instance)
      return held && { ...held.hold, release: () => held.hold.release().finally(held.end) }
    },
    async keepFrozen(instance) {
      const held = await holdAlone(instance)
      held?.end()
      return held !== undefined
    },
    async isFrozen(instance) {
      const group = await findGroup(instance)
      return (
        group !== undefined && ((await isGroupFrozen(group)) || (await isFrozenByEngine(group)))
      )
    },
    async thaw(instance) {
      const group = await findGroup(instance)
      if (group === undefined) return
      await setFrozen(group, false)
      if (await isFrozenByEngine(group)) await writeState(v1FreezerPath(group), 'THAWED')
    },
  }

  /** Frozen by nobody else of this process until `end` is called. */
  async function holdAlone(
    instance: string,
  ): Promise<{ readonly hold: FreezeHold; readonly end: () => void } | undefined> {
    while (holders.has(instance)) await holders.get(instance)
    const { promise, resolve } = Promise.withResolvers<void>()
    holders.set(instance, promise)
    const end = () => {
      holders.delete(instance)
      resolve()
    }
    try {
      const hold = await freezeNow(instance)
      if (!hold) end()
      return hold && { hold, end }
    } catch (error) {
      end()
      throw error
    }
  }

  async function freezeNow(instance: string): Promise<FreezeHold | undefined> {
    const group = await findGroup(instance)
    if (group === undefined || (await isFrozenByEngine(group))) {
      return freezeByEngine(instances, instance)
    }
    return freezeGroup(group)
  }

  async function findGroup(instance: string): Promise<string | undefined> {
    return instances.isOnHost
      ? findPayloadGroup(storageName(instances.project, instance))
      : undefined
  }
}

export function isFrozen(freezer: Freezer, instance: Instance): Promise<boolean> {
  if (instance.status === 'Frozen') return Promise.resolve(true)
  return instance.status === 'Running' ? freezer.isFrozen(instance.name) : Promise.resolve(false)
}

/** Leaves a running machine frozen, until it is woken, thawed, started or stopped. */
export async function freezeMachine(engine: FreezableInstances, ref: MachineRef): Promise<void> {
  if (await engine.freezer.keepFrozen(nameOf(ref))) return
  throw new DriverError(`${ref.id} does not run, so it cannot be frozen`, { retryable: true })
}

/** Thaws a machine, whichever process froze it, once all copies that it is frozen for are complete. */
export async function thawMachine(engine: FreezableInstances, ref: MachineRef): Promise<void> {
  const name = nameOf(ref)
  for (const operation of await runningOperations(engine)) {
    if (operation.description !== 'Creating instance' || !concerns(operation, name)) continue
    await engine.client.waitFor(operation, 60_000).catch(() => {})
  }
  await engine.freezer.thaw(name)
  const found = await findInstance(engine, name)
  if (!found) throw machineAbsent(ref)
  if (found.status === 'Frozen') await unfreezeByEngine(engine, name)
}

type FreezableInstances = Instances & { readonly freezer: Freezer }

const freezeWithinMs = 5_000
async function freezeGroup(group: string): Promise<FreezeHold> {
  const wasFrozen = await isGroupFrozen(group)
  const release = () => setFrozen(group, false)
  await setFrozen(group, true)
  const deadline = Date.now() + freezeWithinMs
  while (!(await isGroupFrozen(group))) {
    if (Date.now() > deadline) {
      const unfrozen = await describeUnfrozen(group)
      await release()
      throw new DriverError(`the machine could not be frozen in time; not frozen: ${unfrozen}`, {
        retryable: true,
      })
    }
    await sleep(1)
  }
  return { wasFrozen, isStillFrozen: () => isGroupFrozen(group), release }
}

async function setFrozen(group: string, frozen: boolean): Promise<void> {
  await writeState(join(group, 'cgroup.freeze'), frozen ? '1' : '0')
}

async function isGroupFrozen(group: string): Promise<boolean> {
  return /^frozen 1$/m.test(await readEvents(group))
}

/**
 * Frozen by the v1 freezer, which the engine prefers and which overrides ours. When the engine cannot
 * stop a machine that it froze, it leaves it so and forgets about it.
 */
async function isFrozenByEngine(group: string): Promise<boolean> {
  const state = await readFile(v1FreezerPath(group), 'utf8').catch(() => '')
  return state.trim() === 'FROZEN'
}

function v1FreezerPath(group: string): string {
  return join('/sys/fs/cgroup/freezer', basename(group), 'freezer.state')
}

/** Ignores a missing group: its machine has ended. */
async function writeState(path: string, state: string): Promise<void> {
  try {
    await writeFile(path, state)
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

async function freezeByEngine(instances: Instances, name: string): Promise<FreezeHold | undefined> {
  let wasFrozen = false
  try {
    await changeState(instances, name, { action: 'freeze' })
  } catch (error) {
    if (isStatus(error, 404) || !(error instanceof Error)) throw error
    wasFrozen = /already frozen/i.test(error.message)
    if (!wasFrozen && /not running|isn't running/i.test(error.message)) return undefined
    if (!wasFrozen) throw error
  }
  return {
    wasFrozen,
    isStillFrozen: async () => (await findInstance(instances, name))?.status === 'Frozen',
    release: () => unfreezeByEngine(instances, name),
  }
}

async function unfreezeByEngine(instances: Instances, name: string): Promise<void> {
  try {
    await changeState(instances, name, { action: 'unfreeze' })
  } catch (error) {
    const found = await findInstance(instances, name)
    if (found?.status === 'Frozen') throw error
  }
}
