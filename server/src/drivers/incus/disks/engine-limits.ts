import { DriverError, MachineFull } from '../../machine-driver.ts'
import { diskSizeKey } from '../instance.ts'
import type { Instance, Instances } from '../instances.ts'

/*
 * Disk limits as the engine sets them. Where the pool is on this host, limits.ts adjusts them further;
 * elsewhere they are all there is.
 */

/** The size of a machine's disk, which equals its limit while captures retain none of its data. */
export function sizeOf(instance: Instance): number {
  const size = Number(instance.config[diskSizeKey] ?? 0)
  return size > 0 ? size : engineLimitOf(instance)
}

/** Grows a disk whose limit only the engine can set. */
export async function growDisk(
  instances: Instances,
  instance: Instance,
  bytes: number,
): Promise<void> {
  const missing = bytes - sizeOf(instance)
  if (missing <= 0) return
  await patchInstance(instances, instance.name, {
    config: { [diskSizeKey]: String(bytes) },
    devices: rootDevice(instance, engineLimitOf(instance) + missing),
  })
}

/** The bytes that the engine charges a machine for. */
export async function readUsedBytes({ client, project }: Instances, name: string): Promise<number> {
  const { disk } = await client.get<{ disk: { root?: { usage: number } } | null }>(
    `/1.0/instances/${name}/state`,
    { query: { project } },
  )
  return Math.max(0, disk?.root?.usage ?? 0)
}

/**
 * Where disks cannot be measured, a capture raises the limit by everything that its machine is charged
 * for, as if only the capture kept it from then on: the machine can use its whole size again.
 */
export async function raiseLimit(
  instances: Instances,
  instance: Instance,
  usedBytes: number,
): Promise<void> {
  const limit = sizeOf(instance) + usedBytes
  // Full quota groups charge a machine with hardly anything once it is captured.
  if (limit <= engineLimitOf(instance) * 1.01) return
  const refused = await catchDiskFull(() => setEngineLimit(instances, instance, limit))
  // Setting a limit also writes to the disk, which one that is full to its last blocks refuses. If it
  // were captured anyway, it could never be emptied.
  if (refused) throw new MachineFull({ cause: refused })
}

export function setEngineLimit(
  instances: Instances,
  instance: Instance,
  bytes: number,
): Promise<void> {
  return patchInstance(instances, instance.name, { devices: rootDevice(instance, bytes) })
}

/** The limit that the engine has set. */
export function engineLimitOf({ name, devices }: Instance): number {
  const match = /^(\d+)(B|GiB)$/.exec(devices['root']?.['size'] ?? '')
  if (!match) throw new DriverError(`the disk of ${name} has no size`, { retryable: false })
  return Number(match[1]) * (match[2] === 'GiB' ? 2 ** 30 : 1)
}

/** Resolves to the refusal when the machine's disk is full; every other error is thrown. */
export async function catchDiskFull(attempt: () => Promise<void>): Promise<Error | undefined> {
  try {
    await attempt()
    return undefined
  } catch (error) {
    if (error instanceof Error && diskFullMessage.test(error.message)) return error
    throw error
  }
}

/** For one of its files the engine does not pass on the reason. */
const diskFullMessage = /disk quota exceeded|saving config file for the container failed/i

function rootDevice({ devices }: Instance, bytes: number) {
  return { root: { ...devices['root'], size: `${bytes}B` } }
}

function patchInstance({ client, project }: Instances, name: string, body: object): Promise<void> {
  return client.change('PATCH', `/1.0/instances/${name}`, { query: { project }, body })
}
