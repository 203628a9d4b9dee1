import type { MachineId, MachineSize } from '@computer/contract'
import { sql } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, MachineRow, Tx } from '../../db/database.ts'
import type { Labels } from '../../db/tables/attribution.ts'
import { ApiError, conflict, illegalMove } from '../../errors.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { getEntitlements, getSize, requireNoShrink, requireSize } from '../accounts/plans.ts'
import { requireBudgets } from '../budgets/start-check.ts'
import { labelsFrom, runBy } from '../events/attribution.ts'
import { appendEvent } from '../events/events.ts'
import { getMachine, lockMachine } from '../find-machine.ts'
import { dropSnapshotsOf } from '../disks/snapshot-deletion.ts'
import { retryBaseCapture } from './base.ts'
import { requireMemoryRoom } from '../hosts/capacity.ts'
import { requireAnswer } from '../hosts/health.ts'
import { requireNoMove } from '../require-running.ts'
import { requireRoomToRun } from './quota.ts'
import { moveMachine } from '../events/machine-states.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { newestFirst, type PageRequest } from '../page.ts'

type Changing = Pick<App, 'db' | 'changes'>

export type MachineFilter = PageRequest & {
  readonly state?: MachineRow['state'] | undefined
  readonly name?: string | undefined
  /** The beginning of the name. */
  readonly search?: string | undefined
  readonly template_id?: MachineRow['template_id'] | undefined
  readonly metadata?: Record<string, string> | undefined
}

export async function listMachines(db: Database, actor: Actor, filter: MachineFilter) {
  const { state, name, search, template_id: templateId, metadata } = filter
  const rows = db
    .selectFrom('machines')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .$if(state !== undefined, (query) => query.where('state', '=', state!))
    .$if(name !== undefined, (query) => query.where('name', '=', name!))
    .$if(search !== undefined, (query) => query.where('name', 'like', prefixPattern(search!)))
    .$if(templateId !== undefined, (query) => query.where('template_id', '=', templateId!))
    .$if(metadata !== undefined, (query) =>
      query.where(sql<boolean>`metadata @> ${JSON.stringify(metadata)}::jsonb`),
    )
  // A machine that was taken warm is older than its call.
  const order = sql<string>`coalesce(requested_id, id)`
  return newestFirst('mch', filter, rows, order, (row) => row.requested_id ?? row.id)
}

/** Names are in lower case. */
function prefixPattern(text: string): string {
  return `${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
}

export async function updateMachine(
  app: Changing,
  actor: Actor,
  id: MachineId,
  change: {
    readonly name?: string | undefined
    readonly metadata?: Record<string, string> | undefined
    readonly size?: MachineSize | undefined
  },
): Promise<MachineRow> {
  try {
    const machine = await app.db.transaction().execute(async (tx) => {
      const current = await lockMachine(tx, actor, id)
      const columns = {
        ...(change.size && (await resize(tx, actor, current, change.size))),
        ...(change.name !== undefined && { name: change.name }),
        ...(change.metadata && {
          metadata: JSON.stringify(change.metadata) as never,
          labels: labelsFrom(actor.organizationId, change.metadata),
        }),
      }
      if (Object.keys(columns).length === 0) return current
      const { labels } = await tx
        .updateTable('machines')
        .set(columns)
        .where('id', '=', id)
        .returning('labels')
        .executeTakeFirstOrThrow()
      await appendEvent(tx, id, {
        type: 'machine.updated',
        resized: change.size !== undefined,
        relabeled: !isDeepStrictEqual(labels, current.labels),
      })
      return getMachine(tx, actor, id)
    })
    app.changes.publish(id)
    return machine
  } catch (error) {
    if (isUniqueViolation(error, 'machine_names')) throw nameTaken(change.name!)
    throw error
  }
}

/** Requests a boot of a machine that is stopped, or in error. */
export async function startMachine(app: Changing, actor: Actor, id: MachineId) {
  const start = async (tx: Tx, machine: MachineRow) => {
    if (machine.state !== 'stopped' && machine.state !== 'error') {
      throw illegalMove(machine.state, 'starting')
    }
    if (machine.restore_capture_id) {
      throw conflict(
        `the machine is ${machine.state} and a restore of it is under way; it cannot go to starting before that is done`,
      )
    }
    await requireAnswer(tx, machine.host)
    await requireRoomToRun(tx, actor)
    const labels = sql<Labels>`${JSON.stringify(machine.labels)}::jsonb`
    await requireBudgets(tx, actor, { ...machine, labels })
    await requireMemoryRoom(tx, machine.host)
    await retryBaseCapture(tx, machine)
    return moveMachine(tx, machine, 'starting', { wanted: 'running', ...runBy(actor) })
  }
  return change(app, actor, id, start, { counts: true })
}

/** Requests a shutdown. The worker takes the machine from `stopping` to `stopped`. */
export async function stopMachine(
  app: Changing,
  actor: Actor,
  id: MachineId,
  options: { readonly force: boolean },
) {
  return change(app, actor, id, async (tx, machine) => {
    await requireAnswer(tx, machine.host)
    await requireNoMove(tx, machine)
    return moveMachine(tx, machine, 'stopping', {
      wanted: 'stopped',
      stop_by_force: options.force,
    })
  })
}

/** A stop followed by a start (specification, States, rule 1). */
export async function restartMachine(app: Changing, actor: Actor, id: MachineId) {
  return change(app, actor, id, async (tx, machine) => {
    await requireAnswer(tx, machine.host)
    await requireNoMove(tx, machine)
    return moveMachine(tx, machine, 'stopping', { wanted: 'running', stop_by_force: false })
  })
}

/** Requests the deletion of a machine and its disk, and of its snapshots. Repeating it is no error. */
export async function deleteMachine(
  app: Changing,
  actor: Actor,
  id: MachineId,
  options: { readonly withSnapshots: boolean },
) {
  return change(app, actor, id, async (tx, machine) => {
    if (options.withSnapshots) await dropSnapshotsOf(tx, machine)
    return machine.state === 'deleting' ? machine : moveMachine(tx, machine, 'deleting')
  })
}

/**
 * Changes a row under its lock, so that a concurrent event causes no conflict. Changes that count
 * machines lock the organization first, as every transaction does that takes both locks.
 */
async function change(
  app: Changing,
  actor: Actor,
  id: MachineId,
  act: (tx: Tx, machine: MachineRow) => Promise<MachineRow>,
  options: { readonly counts: boolean } = { counts: false },
): Promise<MachineRow> {
  const machine = await app.db.transaction().execute(async (tx) => {
    if (options.counts) await lockOrganization(tx, actor)
    return act(tx, await lockMachine(tx, actor, id))
  })
  app.changes.publish(id)
  return machine
}

async function resize(tx: Tx, actor: Actor, machine: MachineRow, sizeId: MachineSize) {
  if (machine.state !== 'stopped') {
    throw new ApiError(
      'precondition_failed',
      `the machine is ${machine.state}; only a stopped machine can be resized`,
    )
  }
  if (machine.restore_capture_id) {
    throw conflict(
      `the machine is ${machine.state} and a restore of it is under way; resize it when it is done`,
    )
  }
  requireSize(await getEntitlements(tx, actor.organizationId), sizeId)
  const size = await getSize(tx, sizeId)
  requireNoShrink(machine.disk_gb, size.disk_gb)
  return { size: sizeId, cpu: size.cpu, memory_mb: size.memory_mb, disk_gb: size.disk_gb }
}

export function nameTaken(name: string): ApiError {
  return conflict(`a machine of this organization is already called ${name}`)
}
