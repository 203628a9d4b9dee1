import type { CaptureId, TemplateId, TemplateState } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, TemplateRow, Tx } from '../../db/database.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { ApiError, conflict, notFound } from '../../errors.ts'
import { holdCapture, releaseCapture } from './captures.ts'
import { appendEvent } from '../events/events.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { dropSnapshot } from './snapshot-deletion.ts'

export type TemplateWithState = TemplateRow & {
  readonly state: TemplateState
  readonly size_bytes: number | null
  readonly error: string | null
  /** The size of the captured disk; null for a template without one. */
  readonly disk_gb: number | null
}

export async function listTemplates(
  db: Database,
  actor: Actor,
  filter: PageRequest & {
    readonly name?: string | undefined
    readonly state?: TemplateState | undefined
  },
) {
  const rows = selectTemplates(db, actor)
    .$if(filter.name !== undefined, (query) => query.where('t.name', '=', filter.name!))
    .$if(filter.state !== undefined, (query) => query.where(state, '=', filter.state!))
  return newestFirst('tpl', filter, rows, 't.id')
}

export async function findTemplate(
  db: Database,
  actor: Actor,
  id: TemplateId,
): Promise<TemplateWithState | undefined> {
  return selectTemplates(db, actor).where('t.id', '=', id).executeTakeFirst()
}

export async function getTemplate(
  db: Database,
  actor: Actor,
  id: TemplateId,
): Promise<TemplateWithState> {
  const template = await findTemplate(db, actor, id)
  if (!template) throw notFound(`template ${id}`)
  return template
}

/** Reads a ready template and keeps its disk until the end of the transaction. */
export async function holdTemplate(
  tx: Tx,
  actor: Actor,
  id: TemplateId,
): Promise<TemplateWithState> {
  const { capture_id: captureId } = await getTemplate(tx, actor, id)
  if (captureId) await holdCapture(tx, captureId)
  const template = await getTemplate(tx, actor, id)
  if (template.state === 'ready') return template
  if (template.state === 'building') {
    throw new ApiError('compute_unavailable', `template ${id} is being built; try again shortly`, {
      retryAfter: 1,
    })
  }
  throw new ApiError(
    'precondition_failed',
    `template ${id} could not be built: delete it and make another`,
  )
}

export async function updateTemplate(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: TemplateId,
  change: { readonly name?: string | undefined; readonly description?: string | undefined },
): Promise<TemplateWithState> {
  const columns = {
    ...(change.name !== undefined && { name: change.name }),
    ...(change.description !== undefined && { description: change.description }),
  }
  if (Object.keys(columns).length > 0) {
    try {
      await app.db
        .updateTable('templates')
        .set(columns)
        .where('id', '=', id)
        .where('organization_id', '=', actor.organizationId)
        .execute()
    } catch (error) {
      throw asNameTaken(error, change.name)
    }
  }
  return getTemplate(app.db, actor, id)
}

/** The templates whose machines an operator keeps warm, and whose disk is there. */
export async function listWarmTemplates(db: Database, host: string) {
  return db
    .selectFrom('templates as t')
    .innerJoin('captures as c', 'c.id', 't.capture_id')
    .leftJoin('capture_copies as copy', (join) =>
      join.onRef('copy.capture_id', '=', 'c.id').on('copy.host', '=', host),
    )
    .select(['t.warm', 't.size', 't.image_id', 'c.id as base_capture_id', 'copy.state as copy'])
    .where('t.warm', '>', 0)
    .where('c.state', '=', 'ready')
    .orderBy('t.id')
    .execute()
}

/** Machines that were made from the template are not affected. */
export async function deleteTemplate(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  id: TemplateId,
): Promise<void> {
  const { source_machine_id: machineId } = await app.db.transaction().execute(async (tx) => {
    const template = await getTemplate(tx, actor, id)
    if (template.source_machine_id) await lockAnyMachine(tx, template.source_machine_id)
    const gone = await tx
      .deleteFrom('templates')
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    if (!gone) throw notFound(`template ${id}`)
    if (gone.capture_id) await dropDisk(tx, gone, gone.capture_id)
    return gone
  })
  if (machineId) app.changes.publish(machineId)
}

/** The name of a template in events. */
export function describeTemplate({ id, name }: Pick<TemplateRow, 'id' | 'name'>): string {
  return `template ${id} "${name}"`
}

/** Turns the violation of unique names into a conflict; other errors pass through. */
export function asNameTaken(error: unknown, name: string | undefined): unknown {
  return isUniqueViolation(error, 'templates_organization_id_name_key')
    ? conflict(`a template of this organization is already called ${name}`)
    : error
}

/** The snapshot that was taken for a template is deleted with the last template that names it. */
async function dropDisk(tx: Tx, template: TemplateRow, captureId: CaptureId): Promise<void> {
  const ownSnapshot = await tx
    .selectFrom('snapshots as s')
    .selectAll('s')
    .where('s.capture_id', '=', captureId)
    .where('s.origin', '=', 'template')
    .where('s.deleted_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('templates as t').whereRef('t.capture_id', '=', 's.capture_id'))),
    )
    .executeTakeFirst()
  if (ownSnapshot) return dropSnapshot(tx, ownSnapshot)
  const { capture, isKept } = await releaseCapture(tx, captureId)
  if (isKept) return
  await appendEvent(tx, capture.machine_id, {
    type: 'snapshot.deleted',
    message: describeTemplate(template),
    capture,
  })
}

const state = sql<TemplateState>`case coalesce(c.state, 'ready')
  when 'pending' then 'building' when 'error' then 'error' else 'ready' end`

function selectTemplates(db: Database, actor: Actor) {
  return db
    .selectFrom('templates as t')
    .leftJoin('captures as c', 'c.id', 't.capture_id')
    .selectAll('t')
    .select(['c.size_bytes', 'c.error', 'c.disk_gb'])
    .select(state.as('state'))
    .where('t.organization_id', '=', actor.organizationId)
}
