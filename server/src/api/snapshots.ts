import type { Snapshot, snapshots } from '@computer/contract'
import type { App } from '../app.ts'
import { deleteSnapshot } from '../domain/disks/snapshot-deletion.ts'
import {
  createSnapshot,
  getSnapshot,
  listSnapshots,
  type SnapshotWithState,
} from '../domain/disks/snapshots.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function snapshotRoutes(app: Pick<App, 'db' | 'changes'>): Routes<typeof snapshots> {
  return {
    create: async (actor, { body, newId }) =>
      toWire(await createSnapshot(app, actor, newId('snp'), body)),
    list: async (actor, { query }) => pageToWire(await listSnapshots(app.db, actor, query), toWire),
    get: async (actor, { params }) => toWire(await getSnapshot(app.db, actor, params.snapshot_id)),
    delete: async (actor, { params }) =>
      toWire(await deleteSnapshot(app, actor, params.snapshot_id)),
  }
}

function toWire(row: SnapshotWithState): Snapshot {
  return { ...rowToWire(row), includes_memory: false }
}
