import type { CaptureId } from '@computer/contract'
import { keyOf, type Disk, type DiskKeeper, type KeptDisk } from '../drivers/disk-keeper.ts'

/**
 * The disks of all hosts of a server. A disk is kept on a host that has it: that of its machine, or any that has a copy of a
 * capture. Disposing of it disposes of the keepers.
 */
export function keepDisksOfHosts(keepers: readonly DiskKeeper[]): DiskKeeper {
  /** The hosts that had each disk when disks were listed last. */
  const owners = new Map<string, DiskKeeper[]>()
  const holders = new Map<CaptureId, DiskKeeper>()
  const holderOf = ({ disk, id }: KeptDisk): DiskKeeper => {
    const holder = holders.get(id)
    if (!holder) throw new Error(`no host keeps ${keyOf(disk)} as ${id}`)
    return holder
  }
  return {
    async listDisks() {
      const lists = await Promise.all(keepers.map((keeper) => keeper.listDisks()))
      const disks = new Map<string, Disk>()
      owners.clear()
      for (const [index, keeper] of keepers.entries()) {
        for (const disk of lists[index]!) {
          const key = keyOf(disk)
          disks.set(key, disk)
          owners.set(key, [...(owners.get(key) ?? []), keeper])
        }
      }
      return [...disks.values()]
    },
    async keep(disk, id) {
      for (const keeper of owners.get(keyOf(disk)) ?? []) {
        if (!(await keeper.keep(disk, id))) continue
        holders.set(id, keeper)
        return true
      }
      return false
    },
    async listKept() {
      const lists = await Promise.all(keepers.map((keeper) => keeper.listKept()))
      for (const [index, keeper] of keepers.entries()) {
        for (const { id } of lists[index]!) holders.set(id, keeper)
      }
      return lists.flat()
    },
    send: async (kept, transfer) => holderOf(kept).send(kept, transfer),
    drop: async (kept) => holderOf(kept).drop(kept),
    async [Symbol.asyncDispose]() {
      for (const keeper of keepers) await keeper[Symbol.asyncDispose]()
    },
  }
}
