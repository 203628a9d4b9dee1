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
import { showTime } from './show.ts'

export function snapshotRoutes(app: Pick<App, 'db' | 'changes'>): Routes<typeof snapshots> {
  return {
    create: async (actor, { body, newId }) =>
      show(await createSnapshot(app, actor, newId('snp'), body)),
    list: async (actor, { query }) => {
      const page = await listSnapshots(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
    get: async (actor, { params }) => show(await getSnapshot(app.db, actor, params.snapshot_id)),
    delete: async (actor, { params }) => show(await deleteSnapshot(app, actor, params.snapshot_id)),
  }
}

function show(row: SnapshotWithState): Snapshot {
  return {
    ...row,
    includes_memory: false,
    created_at: row.created_at.toISOString(),
    completed_at: showTime(row.completed_at),
  }
}
