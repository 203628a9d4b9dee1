import { DriverError } from '../machine-driver.ts'
import { findInstance, type Instance, type Instances } from './instances.ts'

/** Grows a machine's disk to a size. One that is larger stays so. */
export async function growDisk(
  instances: Instances,
  instance: Instance,
  diskGb: number,
): Promise<void> {
  const bytes = diskGb * 2 ** 30
  if (bytes > sizeOf(instance)) await setDisk(instances, instance, bytes)
}

/**
 * The engine keeps a file of its own on the machine's disk, and neither starts nor changes a machine
 * where that cannot be written. A full disk is lent as little as suffices, and only for the attempt.
 */
export async function evenIfFull(
  instances: Instances,
  name: string,
  attempt: () => Promise<void>,
): Promise<void> {
  let refused = await tryFull(attempt)
  if (refused === undefined) return
  const instance = await findInstance(instances, name)
  if (!instance) throw refused
  const size = sizeOf(instance)
  try {
    for (const lentMb of [1, 4, 16, 64, 256]) {
      refused = await tryFull(async () => {
        await setDisk(instances, instance, size + lentMb * 2 ** 20)
        await attempt()
      })
      if (refused === undefined) return
    }
    throw refused
  } finally {
    // The limit holds again before the engine fails to note it on the full disk.
    await tryFull(() => setDisk(instances, instance, size))
  }
}

/** That the disk is full is an answer; everything else is thrown. */
async function tryFull(attempt: () => Promise<void>): Promise<Error | undefined> {
  try {
    await attempt()
    return undefined
  } catch (error) {
    if (error instanceof Error && /disk quota exceeded/i.test(error.message)) return error
    throw error
  }
}

function setDisk({ client, project }: Instances, instance: Instance, bytes: number): Promise<void> {
  const devices = { root: { ...instance.devices['root'], size: `${bytes}B` } }
  const path = `/1.0/instances/${instance.name}`
  return client.change('PATCH', path, { query: { project }, body: { devices } })
}

function sizeOf({ name, devices }: Instance): number {
  const match = /^(\d+)(B|GiB)$/.exec(devices['root']?.['size'] ?? '')
  if (!match) throw new DriverError(`the disk of ${name} has no size`, { retryable: false })
  return Number(match[1]) * (match[2] === 'GiB' ? 2 ** 30 : 1)
}
