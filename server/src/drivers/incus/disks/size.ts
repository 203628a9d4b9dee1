import { DriverError, MachineFull } from '../../machine-driver.ts'
import type { Engine } from '../engine.ts'
import { diskSizeKey } from '../instance.ts'
import { findInstance, type Instance, type Instances } from '../instances.ts'
import type { HostPool } from './host-pool.ts'
import { readDiskId, readQuota, setLimit } from './quotas.ts'

/** The size of a machine's disk, which is its limit as long as captures keep nothing of it. */
export function sizeOf(instance: Instance): number {
  const size = Number(instance.config[diskSizeKey] ?? 0)
  return size > 0 ? size : limitOf(instance)
}

/** Grows a disk whose limit only the engine can set. */
export async function growByEngine(
  instances: Instances,
  instance: Instance,
  bytes: number,
): Promise<void> {
  const missing = bytes - sizeOf(instance)
  if (missing <= 0) return
  await change(instances, instance.name, {
    config: { [diskSizeKey]: String(bytes) },
    devices: rootOf(instance, limitOf(instance) + missing),
  })
}

/** What a machine is charged with, as the engine tells it. */
export async function readUsedBytes({ client, project }: Instances, name: string): Promise<number> {
  const { disk } = await client.get<{ disk: { root?: { usage: number } } | null }>(
    `/1.0/instances/${name}/state`,
    { query: { project } },
  )
  return Math.max(0, disk?.root?.usage ?? 0)
}

/**
 * Where disks cannot be measured, a capture raises the limit by all that its machine is charged with,
 * as if the machine kept nothing of it from then on: it may use its whole size again.
 */
export async function raiseLimit(
  instances: Instances,
  instance: Instance,
  usedBytes: number,
): Promise<void> {
  const limit = sizeOf(instance) + usedBytes
  // Full quota groups charge a machine with hardly anything once it is captured.
  if (limit <= limitOf(instance) * 1.01) return
  const body = { devices: rootOf(instance, limit) }
  const refused = await tryFull(() => change(instances, instance.name, body))
  // Setting a limit writes in the name of the disk, too, and on one that is full to its last blocks that
  // is over it. Captured all the same, it could never be emptied.
  if (refused) throw new MachineFull({ cause: refused })
}

/**
 * The engine keeps a file of its own on the machine's disk, and neither starts nor changes a machine
 * where that cannot be written. A full disk is lent as little as suffices, and only for the attempt.
 */
export async function evenIfFull(
  engine: Engine,
  name: string,
  attempt: () => Promise<void>,
): Promise<void> {
  let refused = await tryFull(attempt)
  if (refused === undefined) return
  const pool = await engine.openPool()
  const lender = await (pool ? lendOnHost(pool, name) : lendByEngine(engine, name))
  if (!lender) throw refused
  try {
    for (const lentMb of [1, 4, 16, 64, 256]) {
      refused = await tryFull(async () => {
        await lender.lend(lentMb * 2 ** 20)
        await attempt()
      })
      if (refused === undefined) return
    }
    throw refused
  } finally {
    await lender.takeBack()
  }
}

type Lender = { lend(bytes: number): Promise<void>; takeBack(): Promise<void> }

async function lendOnHost(pool: HostPool, name: string): Promise<Lender> {
  const id = await readDiskId(pool, name)
  const { chargedBytes, limitBytes } = await readQuota(pool, id)
  return {
    lend: (bytes) => setLimit(pool, id, Math.max(chargedBytes, limitBytes) + bytes),
    takeBack: () => setLimit(pool, id, limitBytes),
  }
}

async function lendByEngine(instances: Instances, name: string): Promise<Lender | undefined> {
  const instance = await findInstance(instances, name)
  if (!instance) return undefined
  const set = (bytes: number) => change(instances, name, { devices: rootOf(instance, bytes) })
  return {
    lend: (bytes) => set(limitOf(instance) + bytes),
    // The limit holds again before the engine fails to note it on the full disk.
    takeBack: async () => void (await tryFull(() => set(limitOf(instance)))),
  }
}

/** That the disk is full is an answer; everything else is thrown. */
async function tryFull(attempt: () => Promise<void>): Promise<Error | undefined> {
  try {
    await attempt()
    return undefined
  } catch (error) {
    if (error instanceof Error && isOfFullDisk.test(error.message)) return error
    throw error
  }
}

/** For one of its files the engine does not give the reason. */
const isOfFullDisk = /disk quota exceeded|saving config file for the container failed/i

function change({ client, project }: Instances, name: string, body: object): Promise<void> {
  return client.change('PATCH', `/1.0/instances/${name}`, { query: { project }, body })
}

function rootOf({ devices }: Instance, bytes: number) {
  return { root: { ...devices['root'], size: `${bytes}B` } }
}

/** The limit that the engine has set. */
function limitOf({ name, devices }: Instance): number {
  const match = /^(\d+)(B|GiB)$/.exec(devices['root']?.['size'] ?? '')
  if (!match) throw new DriverError(`the disk of ${name} has no size`, { retryable: false })
  return Number(match[1]) * (match[2] === 'GiB' ? 2 ** 30 : 1)
}
