import type { MachineRef } from '../../machine-driver.ts'
import type { Engine } from '../engine.ts'
import { nameOf } from '../instance.ts'
import { findInstance, imageOf, machineAbsent } from '../instances.ts'
import { commit } from './btrfs.ts'
import { readUsedBytes } from './engine-limits.ts'
import type { HostPool } from './host-pool.ts'
import { measureContent, readDisks } from './measure.ts'
import { readQuota } from './quotas.ts'

/** A result counts for this long, or for this many times as long as it took to measure. */
const freshMs = 2_000
const backoffFactor = 20
/** A commit writes out the caches of every machine, so they share one. */
const commitEveryMs = 1_000

type Measurement = { readonly bytes: Promise<number>; staleAtMs: number }

/**
 * Measures what machines hold on their disks beyond their image. Guests decide how long it takes, so
 * disks are measured one at a time, and each only now and then.
 */
export function createDiskUsage(engine: Engine): (ref: MachineRef) => Promise<number> {
  const measurements = new Map<string, Measurement>()
  let last: Promise<unknown> = Promise.resolve()
  let nextCommitAtMs = 0

  return (ref) => {
    const name = nameOf(ref)
    for (const [key, { staleAtMs }] of measurements) {
      if (staleAtMs <= performance.now()) measurements.delete(key)
    }
    const known = measurements.get(name)
    if (known) return known.bytes
    const bytes = last.then(() => measure(ref, name))
    // Until it is measured, further callers wait for the same result.
    const measurement: Measurement = { bytes, staleAtMs: Infinity }
    measurements.set(name, measurement)
    last = bytes.catch(() => measurements.delete(name))
    return bytes

    async function measure(machine: MachineRef, instance: string): Promise<number> {
      const begun = performance.now()
      const pool = await engine.openPool()
      const used = pool
        ? await measureOnHost(pool, machine, instance)
        : await readUsedBytes(engine, instance)
      const now = performance.now()
      measurement.staleAtMs = now + Math.max(freshMs, (now - begun) * backoffFactor)
      return used
    }
  }

  async function measureOnHost(pool: HostPool, ref: MachineRef, name: string): Promise<number> {
    if (performance.now() >= nextCommitAtMs) {
      nextCommitAtMs = performance.now() + commitEveryMs
      // What a guest wrote is on its disk from a commit on. A full pool may refuse to commit.
      await commit(pool.folder).catch(() => {})
    }
    const { machines, images } = await readDisks(pool)
    const disk = machines.find(({ instance }) => instance === name)
    const instance = disk && (await findInstance(engine, name))
    if (!instance) throw machineAbsent(ref)
    // A disk that shares nothing it wrote is charged for exactly that.
    if (disk.captures === '' && !disk.inherits) return (await readQuota(pool, disk.id)).chargedBytes
    return measureContent(pool, name, disk, images.get(imageOf(instance)))
  }
}
