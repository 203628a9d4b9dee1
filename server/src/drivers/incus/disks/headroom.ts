import { MachineFull } from '../../machine-driver.ts'
import type { Engine } from '../engine.ts'
import { findInstance, type Instances } from '../instances.ts'
import { catchDiskFull, engineLimitOf, setEngineLimit } from './engine-limits.ts'
import type { HostPool } from './host-pool.ts'
import { readDiskId, readQuota, setLimit } from './quotas.ts'

/**
 * The engine keeps a file of its own on the machine's disk, and neither starts nor changes a machine
 * where it cannot write that file. So the limit of a full disk is raised for the attempt, by as little
 * as suffices. Throws MachineFull if no limit can be set either, which happens on a disk that is full to
 * its last blocks where only the API of the engine can be used.
 */
export async function withTemporaryHeadroom(
  engine: Engine,
  name: string,
  attempt: () => Promise<void>,
): Promise<void> {
  let refused = await catchDiskFull(attempt)
  if (refused === undefined) return
  const pool = await engine.openPool()
  const headroom = await (pool ? headroomOnHost(pool, name) : headroomByEngine(engine, name))
  if (!headroom) throw refused
  try {
    for (const extraMb of [1, 4, 16, 64, 256]) {
      refused = await catchDiskFull(async () => {
        await headroom.grant(extraMb * 2 ** 20)
        await attempt()
      })
      if (refused === undefined) return
    }
    throw new MachineFull({ cause: refused })
  } finally {
    await headroom.revoke()
  }
}

type Headroom = { grant(extraBytes: number): Promise<void>; revoke(): Promise<void> }

async function headroomOnHost(pool: HostPool, name: string): Promise<Headroom> {
  const id = await readDiskId(pool, name)
  const { chargedBytes, limitBytes } = await readQuota(pool, id)
  return {
    grant: (extraBytes) => setLimit(pool, id, Math.max(chargedBytes, limitBytes) + extraBytes),
    revoke: () => setLimit(pool, id, limitBytes),
  }
}

async function headroomByEngine(instances: Instances, name: string): Promise<Headroom | undefined> {
  const instance = await findInstance(instances, name)
  if (!instance) return undefined
  const limitBytes = engineLimitOf(instance)
  const set = (bytes: number) => setEngineLimit(instances, instance, bytes)
  return {
    grant: (extraBytes) => set(limitBytes + extraBytes),
    // The limit holds again even when the engine then fails to note it on the full disk.
    revoke: async () => void (await catchDiskFull(() => set(limitBytes))),
  }
}
