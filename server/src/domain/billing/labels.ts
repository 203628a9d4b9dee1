import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { transactionsEndWithinMs, type Database } from '../../db/database.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { inMs } from '../claims.ts'
import { labelsOf } from '../events/attribution.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'

/*
 * Labels: the part of the metadata of machines that usage is counted by. The organization names their keys.
 * Machines keep their labels in a column, so that their events record what the meters need. When the keys
 * change, a pass of the worker gives every machine its labels.
 */

const batchSize = 100

export async function getLabelKeys(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<string[]> {
  const { label_keys: keys } = await db
    .selectFrom('organizations')
    .select('label_keys')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return keys
}

/** Takes effect for what is used from now on: for machines that exist, within seconds. */
export async function setLabelKeys(
  app: Pick<App, 'db'>,
  actor: Actor,
  keys: readonly string[],
): Promise<string[]> {
  return app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const before = await getLabelKeys(tx, actor)
    if (isDeepStrictEqual(before, keys)) return before
    const { label_keys: stored, name } = await tx
      .updateTable('organizations')
      // A transaction that is not over yet may have read the keys before.
      .set({ label_keys: [...keys], relabel_until: inMs(transactionsEndWithinMs) })
      .where('id', '=', actor.organizationId)
      .returning(['label_keys', 'name'])
      .executeTakeFirstOrThrow()
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'organization.labels_changed',
      target: { type: 'organization', id: actor.organizationId, name },
      message: `from ${before.join(', ') || 'none'} to ${keys.join(', ') || 'none'}`,
    })
    return stored
  })
}

/** Gives machines of organizations whose keys changed their labels. */
export async function relabelMachines(app: Pick<App, 'db' | 'changes'>): Promise<void> {
  const organizations = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('relabel_until', 'is not', null)
    .execute()
  for (const { id } of organizations) {
    while ((await relabelBatch(app, id)) === batchSize);
    await app.db
      .updateTable('organizations')
      .set({ relabel_until: null })
      .where('id', '=', id)
      .where('relabel_until', '<=', sql<Date>`now()`)
      .execute()
  }
}

async function relabelBatch(
  app: Pick<App, 'db' | 'changes'>,
  organizationId: OrganizationId,
): Promise<number> {
  const machines = await app.db
    .selectFrom('machines as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select('m.id')
    .where('m.organization_id', '=', organizationId)
    .where('m.deleted_at', 'is', null)
    .where('m.labels', '!=', labelsOf(sql.ref('o.label_keys'), sql.ref('m.metadata')))
    .limit(batchSize)
    .execute()
  for (const { id } of machines) {
    await app.db.transaction().execute(async (tx) => {
      const before = await lockAnyMachine(tx, id)
      const relabeled = await tx
        .updateTable('machines as m')
        .from('organizations as o')
        .set({ labels: labelsOf(sql.ref('o.label_keys'), sql.ref('m.metadata')) })
        .where('m.id', '=', id)
        .whereRef('o.id', '=', 'm.organization_id')
        .returning('m.labels')
        .executeTakeFirstOrThrow()
      // Another worker was faster.
      if (isDeepStrictEqual(relabeled.labels, before.labels)) return
      await appendEvent(tx, id, { type: 'machine.updated', relabeled: true })
    })
    app.changes.publish(id)
  }
  return machines.length
}
