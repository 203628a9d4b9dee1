import type { CaptureId } from '@computer/contract'
import { keyOf, type Disk, type DiskKeeper, type KeptDisk } from '../drivers/disk-keeper.ts'

type Host = { readonly name: string; readonly keeper: DiskKeeper }

/**
 * The disks of all hosts of a server. A disk is kept on a host that has it: that of its machine, or any that has a copy of
 * a capture. What a host throws is thrown with its name. Disposing of it disposes of the keepers.
 */
export function keepDisksOfHosts(hosts: readonly Host[]): DiskKeeper {
  /** The hosts that had each disk when disks were listed last. */
  const owners = new Map<string, Host[]>()
  const holders = new Map<CaptureId, Host>()
  const onHolder = <T>({ disk, id }: KeptDisk, work: (keeper: DiskKeeper) => Promise<T>) => {
    const holder = holders.get(id)
    if (!holder) throw new Error(`no host keeps ${keyOf(disk)} as ${id}`)
    return onHost(holder, work)
  }
  const onAll = <T>(work: (keeper: DiskKeeper) => Promise<readonly T[]>) =>
    Promise.all(
      hosts.map(async (host) => (await onHost(host, work)).map((one) => [host, one] as const)),
    )
  return {
    async listDisks() {
      const disks = new Map<string, Disk>()
      owners.clear()
      for (const [host, disk] of (await onAll((keeper) => keeper.listDisks())).flat()) {
        const key = keyOf(disk)
        disks.set(key, disk)
        owners.set(key, [...(owners.get(key) ?? []), host])
      }
      return [...disks.values()]
    },
    async keep(disk, id) {
      for (const host of owners.get(keyOf(disk)) ?? []) {
        if (!(await onHost(host, (keeper) => keeper.keep(disk, id)))) continue
        holders.set(id, host)
        return true
      }
      return false
    },
    async listKept() {
      const kept = (await onAll((keeper) => keeper.listKept())).flat()
      for (const [host, { id }] of kept) holders.set(id, host)
      return kept.map(([, one]) => one)
    },
    send: async (kept, transfer) => onHolder(kept, (keeper) => keeper.send(kept, transfer)),
    drop: async (kept) => onHolder(kept, (keeper) => keeper.drop(kept)),
    async [Symbol.asyncDispose]() {
      for (const { keeper } of hosts) await keeper[Symbol.asyncDispose]()
    },
  }
}

async function onHost<T>(
  { name, keeper }: Host,
  work: (keeper: DiskKeeper) => Promise<T>,
): Promise<T> {
  try {
    return await work(keeper)
  } catch (cause) {
    throw new Error(`host ${name}: ${(cause as Error).message}`, { cause })
  }
}
