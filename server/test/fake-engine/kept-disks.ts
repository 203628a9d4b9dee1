import type { CaptureId } from '@computer/contract'
import { Readable } from 'node:stream'
import type { Disk, DiskKeeper } from '../../src/drivers/disk-keeper.ts'
import { CaptureMissing } from '../../src/drivers/machine-driver.ts'
import type { CapturedDisk } from './captures.ts'
import { FakeDisk } from './disk.ts'
import type { FakeStore } from './store.ts'

/** A disk as it was when it was kept. */
export type KeptFake = { readonly disk: Disk; readonly content: CapturedDisk }

export function openFakeKeeper(store: FakeStore, folder: string): DiskKeeper {
  const kept = store.kept.get(folder) ?? new Map<CaptureId, KeptFake>()
  store.kept.set(folder, kept)
  const find = (id: CaptureId): KeptFake => {
    const one = kept.get(id)
    if (!one) throw new CaptureMissing(id)
    return one
  }
  return {
    listDisks: async () => [
      ...store.list().map(({ ref }) => ({ kind: 'machine', ref }) as const),
      ...store.captures.list().map(({ id }) => ({ kind: 'capture', id }) as const),
    ],
    async keep(disk, id) {
      const content = readContent(store, disk)
      if (content === undefined) return false
      kept.set(id, { disk, content })
      return true
    },
    listKept: async () => Array.from(kept, ([id, { disk }]) => ({ disk, id })),
    async send({ id }, { base }) {
      if (base !== null) find(base)
      const { content } = find(id)
      return Readable.from(content ? [content.archive()] : [])
    },
    drop: async ({ id }) => void kept.delete(id),
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Undefined for a disk that is absent or incomplete. */
function readContent(store: FakeStore, disk: Disk): CapturedDisk | undefined {
  if (disk.kind === 'capture') {
    return store.captures.sizeOf(disk.id) && store.captures.get(disk.id)
  }
  const machine = store.find(disk.ref)
  if (!machine) return undefined
  return machine.disk ? new FakeDisk(machine.disk) : machine.base
}
