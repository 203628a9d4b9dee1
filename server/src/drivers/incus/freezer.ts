import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef } from '../machine-driver.ts'
import { nameOf } from './instance.ts'
import {
  absent,
  changeState,
  concerns,
  findInstance,
  isStatus,
  runningOperations,
  type Instance,
  type Instances,
} from './instances.ts'
import { storageName } from './disks/host-pool.ts'

/**
 * Holds all processes of a machine for as long as its disk is copied. On the engine's own host that is
 * the kernel's freezer, asked directly: the engine looks only every second whether all are held, where
 * the host still has control groups of the first version. The engine then knows nothing of it, so
 * that a machine is frozen is told by both.
 */
export type Freezer = {
  /** One holds a machine at a time. Undefined where it does not run. */
  freeze(instance: string): Promise<Hold | undefined>
  /** What the kernel says, where it can be asked. */
  isFrozen(instance: string): Promise<boolean>
  /** What the kernel does, where it can be asked. */
  thaw(instance: string): Promise<void>
}

export type Hold = {
  /** Somebody else had frozen it before. */
  readonly wasFrozen: boolean
  /** Whether nobody has woken it meanwhile. */
  holds(): Promise<boolean>
  release(): Promise<void>
}

export function createFreezer(instances: Instances, onHost: boolean): Freezer {
  const holders = new Map<string, Promise<void>>()
  return {
    async freeze(instance) {
      while (holders.has(instance)) await holders.get(instance)
      const { promise, resolve } = Promise.withResolvers<void>()
      holders.set(instance, promise)
      const end = () => {
        holders.delete(instance)
        resolve()
      }
      try {
        const hold = await take(instance)
        if (!hold) end()
        return hold && { ...hold, release: () => hold.release().finally(end) }
      } catch (error) {
        end()
        throw error
      }
    },
    async isFrozen(instance) {
      const group = await find(instance)
      return group !== undefined && ((await isHeld(group)) || (await isHeldByEngine(group)))
    },
    async thaw(instance) {
      const group = await find(instance)
      if (group === undefined) return
      await setHeld(group, false)
      if (await isHeldByEngine(group)) await writeState(firstFreezer(group), 'THAWED')
    },
  }

  async function take(instance: string): Promise<Hold | undefined> {
    const group = await find(instance)
    if (group === undefined || (await isHeldByEngine(group))) {
      return freezeByEngine(instances, instance)
    }
    return freezeGroup(group)
  }

  async function find(instance: string): Promise<string | undefined> {
    return onHost ? findGroup(storageName(instances.project, instance)) : undefined
  }
}

export function isFrozen(freezer: Freezer, instance: Instance): Promise<boolean> {
  if (instance.status === 'Frozen') return Promise.resolve(true)
  return instance.status === 'Running' ? freezer.isFrozen(instance.name) : Promise.resolve(false)
}

/** Wakes a machine, whoever froze it. A copy for which it was frozen is made first. */
export async function thawMachine(engine: Freezing, ref: MachineRef): Promise<void> {
  const name = nameOf(ref)
  for (const operation of await runningOperations(engine)) {
    if (operation.description !== 'Creating instance' || !concerns(operation, name)) continue
    await engine.client.waitFor(operation, 60_000).catch(() => {})
  }
  await engine.freezer.thaw(name)
  const found = await findInstance(engine, name)
  if (!found) throw absent(ref)
  if (found.status === 'Frozen') await unfreezeByEngine(engine, name)
}

type Freezing = Instances & { readonly freezer: Freezer }

const freezeWithinMs = 5_000
/** Mounted there beside the first version's, and in its place where that is gone. */
const groupsFolder = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((folder) =>
  existsSync(join(folder, 'cgroup.procs')),
)

/** The control group of a machine that runs. One that could not be removed has the same name, and is empty. */
async function findGroup(name: string): Promise<string | undefined> {
  if (groupsFolder === undefined) return undefined
  for (const suffix of ['', '-1', '-2']) {
    const group = join(groupsFolder, `lxc.payload.${name}${suffix}`)
    if (/^populated 1$/m.test(await readEvents(group))) return group
  }
  return undefined
}

async function freezeGroup(group: string): Promise<Hold> {
  const wasFrozen = await isHeld(group)
  const release = () => setHeld(group, false)
  await setHeld(group, true)
  const deadline = Date.now() + freezeWithinMs
  while (!(await isHeld(group))) {
    if (Date.now() > deadline) {
      await release()
      throw new DriverError('the machine does not hold still', { retryable: true })
    }
    await sleep(1)
  }
  return { wasFrozen, holds: () => isHeld(group), release }
}

async function setHeld(group: string, held: boolean): Promise<void> {
  await writeState(join(group, 'cgroup.freeze'), held ? '1' : '0')
}

async function isHeld(group: string): Promise<boolean> {
  return /^frozen 1$/m.test(await readEvents(group))
}

/**
 * By the first version's freezer, which the engine prefers, and under which ours takes no hold. The
 * engine forgets that it froze a machine when it could not stop it.
 */
async function isHeldByEngine(group: string): Promise<boolean> {
  const state = await readFile(firstFreezer(group), 'utf8').catch(() => '')
  return state.trim() === 'FROZEN'
}

function firstFreezer(group: string): string {
  return join('/sys/fs/cgroup/freezer', basename(group), 'freezer.state')
}

/** A machine that has ended has no group any more. */
async function writeState(path: string, state: string): Promise<void> {
  try {
    await writeFile(path, state)
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function readEvents(group: string): Promise<string> {
  return readFile(join(group, 'cgroup.events'), 'utf8').catch(() => '')
}

async function freezeByEngine(instances: Instances, name: string): Promise<Hold | undefined> {
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
    holds: async () => (await findInstance(instances, name))?.status === 'Frozen',
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
