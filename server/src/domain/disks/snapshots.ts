import type { MachineId, SnapshotId, SnapshotOrigin, SnapshotState } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { CaptureRow, Database, MachineRow, SnapshotRow, Tx } from '../../db/database.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import { holdCapture, insertCapture } from './captures.ts'
import { getEntitlements, requireRoom } from '../accounts/plans.ts'
import { appendEvent } from '../events/events.ts'
import { lockMachine } from '../find-machine.ts'
import { generateSnapshotName } from '../names.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { requireDiskRoom } from '../hosts/capacity.ts'
import { requireAnswer } from '../hosts/health.ts'
import { requireRunning } from '../require-running.ts'

export type SnapshotWithState = SnapshotRow &
  Pick<CaptureRow, 'image_id' | 'size_bytes' | 'completed_at' | 'error' | 'disk_gb'> & {
    readonly state: SnapshotState
  }

/**
 * Requests a copy of a running machine's current disk, which the worker makes. A repeated call with the
 * same id returns the snapshot of the first call.
 */
export async function createSnapshot(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: SnapshotId,
  input: { readonly machine_id: MachineId; readonly name?: string | undefined },
): Promise<SnapshotWithState> {
  const snapshot = await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const existing = await findSnapshot(tx, actor, id)
    if (existing) return existing
    const machine = await lockMachine(tx, actor, input.machine_id)
    await requireRunning(tx, machine)
    await requireAnswer(tx, machine.host)
    await requireDiskRoom(tx, machine.host)
    await requireRoomForSnapshot(tx, actor, machine.id)
    const name = input.name ?? generateSnapshotName('snapshot')
    await insertSnapshot(tx, machine, { id, name, origin: 'manual', actor })
    return getSnapshot(tx, actor, id)
  })
  app.changes.publish(input.machine_id)
  return snapshot
}

/** The snapshots of all machines of the organization, including deleted machines. */
export async function listSnapshots(
  db: Database,
  actor: Actor,
  filter: PageRequest & {
    readonly machine_id?: MachineId | undefined
    readonly origin?: SnapshotOrigin | undefined
    readonly state?: SnapshotState | undefined
  },
) {
  const rows = selectSnapshots(db, actor)
    .$if(filter.machine_id !== undefined, (query) =>
      query.where('s.machine_id', '=', filter.machine_id!),
    )
    .$if(filter.origin !== undefined, (query) => query.where('s.origin', '=', filter.origin!))
    .$if(filter.state !== undefined, (query) => query.where(state, '=', filter.state!))
  return newestFirst('snp', filter, rows, 's.id')
}

export async function getSnapshot(
  db: Database,
  actor: Actor,
  id: SnapshotId,
): Promise<SnapshotWithState> {
  const snapshot = await findSnapshot(db, actor, id)
  if (!snapshot) throw notFound(`snapshot ${id}`)
  return snapshot
}

/** Reads a ready snapshot and keeps its disk until the end of the transaction. */
export async function holdSnapshot(
  tx: Tx,
  actor: Actor,
  id: SnapshotId,
): Promise<SnapshotWithState> {
  const { capture_id: captureId } = await getSnapshot(tx, actor, id)
  await holdCapture(tx, captureId)
  const snapshot = await getSnapshot(tx, actor, id)
  if (snapshot.state === 'ready') return snapshot
  throw new ApiError(
    'precondition_failed',
    `snapshot ${id} is ${snapshot.state}; this needs one that is ready`,
  )
}

/** The same, for a snapshot of the given machine. */
export async function holdSnapshotOf(
  tx: Tx,
  actor: Actor,
  machineId: MachineId,
  id: SnapshotId,
): Promise<SnapshotWithState> {
  const snapshot = await holdSnapshot(tx, actor, id)
  if (snapshot.machine_id === machineId) return snapshot
  throw invalid(`${describeSnapshot(snapshot)} is one of machine ${snapshot.machine_id}`, [
    { field: 'snapshot_id', message: 'must be a snapshot of this machine' },
  ])
}

/** Inserts a snapshot of a locked machine with a pending capture. */
export async function insertSnapshot(
  tx: Tx,
  machine: MachineRow,
  input: {
    readonly id: SnapshotId
    readonly name: string
    readonly origin: SnapshotOrigin
    readonly beforeRestore?: boolean
    /** Null: the snapshot is automatic. */
    readonly actor: Actor | null
  },
): Promise<CaptureRow> {
  const { beforeRestore = false, actor, ...named } = input
  const capture = await insertCapture(tx, machine, { beforeRestore, actor: actor ?? undefined })
  await tx
    .insertInto('snapshots')
    .values({
      ...named,
      organization_id: machine.organization_id,
      machine_id: machine.id,
      capture_id: capture.id,
      created_at: capture.created_at,
    })
    .execute()
  await appendEvent(tx, machine.id, { type: 'snapshot.started', message: describeSnapshot(input) })
  return capture
}

/** The name of a snapshot in events and errors. */
export function describeSnapshot({ id, name }: Pick<SnapshotRow, 'id' | 'name'>): string {
  return `snapshot ${id} "${name}"`
}

const state = sql<SnapshotState>`case when s.deleted_at is null then c.state else 'deleting' end`

export async function findSnapshot(db: Database, actor: Actor, id: SnapshotId) {
  return selectSnapshots(db, actor).where('s.id', '=', id).executeTakeFirst()
}

function selectSnapshots(db: Database, actor: Actor) {
  return db
    .selectFrom('snapshots as s')
    .innerJoin('captures as c', 'c.id', 's.capture_id')
    .selectAll('s')
    .select(['c.image_id', 'c.size_bytes', 'c.completed_at', 'c.error', 'c.disk_gb'])
    .select(state.as('state'))
    .where('s.organization_id', '=', actor.organizationId)
}

async function requireRoomForSnapshot(tx: Tx, actor: Actor, machineId: MachineId): Promise<void> {
  const { taken } = await selectCounted(tx)
    .select((eb) => eb.fn.countAll<number>().as('taken'))
    .where('s.machine_id', '=', machineId)
    .executeTakeFirstOrThrow()
  const entitlements = await getEntitlements(tx, actor.organizationId)
  requireRoom(entitlements, 'snapshots_per_machine', taken)
}

/** The most snapshots that one machine has of those that count against the plan. */
export async function countMostSnapshots(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<number> {
  const most = await selectCounted(db)
    .select((eb) => eb.fn.countAll<number>().as('taken'))
    .where('s.organization_id', '=', organizationId)
    .groupBy('s.machine_id')
    .orderBy('taken', 'desc')
    .limit(1)
    .executeTakeFirst()
  return most?.taken ?? 0
}

/** Manual snapshots count, except failed ones, which hold no disk. */
function selectCounted(db: Database) {
  return db
    .selectFrom('snapshots as s')
    .innerJoin('captures as c', 'c.id', 's.capture_id')
    .where('s.origin', '=', 'manual')
    .where('s.deleted_at', 'is', null)
    .where('c.state', '!=', 'error')
}
