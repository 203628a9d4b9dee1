import type { MachineId, PreviewId, PublishPort } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, PreviewRow, Tx } from '../../db/database.ts'
import { conflict, notFound } from '../../errors.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { getMachine, lockMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { createLink, deleteLinks } from './credentials.ts'
import { accessUrlOf, createLabel, requirePreviewDomain } from './hosts.ts'
import { createToken, hashToken } from '../accounts/tokens.ts'

/** The response to publishing. The credentials are never shown again. */
type PublishedPreview = {
  readonly preview: PreviewRow
  readonly isNew: boolean
  readonly secret: string | null
  readonly accessUrl: string | null
}

/**
 * Publishes a port of a machine at a hostname. A port that is already published keeps its preview. If
 * `id` is that of an earlier call that was interrupted, the credentials of its preview are renewed,
 * because the caller never received the first ones.
 */
export async function publishPort(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  machineId: MachineId,
  id: PreviewId,
  options: PublishPort,
): Promise<PublishedPreview> {
  const domain = requirePreviewDomain(app.config)
  return app.db.transaction().execute(async (tx) => {
    const machine = await lockMachine(tx, actor, machineId)
    if (machine.state === 'deleting') throw conflict(`machine ${machineId} is being deleted`)
    const existing = await findByPort(tx, machineId, options.port)
    if (existing && existing.id !== id) {
      return { preview: existing, isNew: false, secret: null, accessUrl: null }
    }
    const isPrivate = (existing ?? options).access === 'private'
    const secret = isPrivate ? createToken('preview') : null
    const preview = existing
      ? await renewSecret(tx, existing, secret)
      : await insertPreview(tx, actor, { ...options, id, machine_id: machineId, secret })
    if (!existing) {
      await noteAudit(tx, {
        ...auditedBy(actor),
        type: 'port.published',
        target: auditTarget(preview, machine.name),
        message: preview.access,
      })
    }
    if (!secret) return { preview, isNew: true, secret: null, accessUrl: null }
    await deleteLinks(tx, preview.id)
    const token = await createLink(tx, preview.id)
    return { preview, isNew: true, secret, accessUrl: accessUrlOf(domain, preview.label, token) }
  })
}

export async function listPreviews(
  db: Database,
  actor: Actor,
  filter: PageRequest & { readonly machineId?: MachineId },
) {
  if (filter.machineId) await getMachine(db, actor, filter.machineId)
  const rows = db
    .selectFrom('previews')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .$if(filter.machineId !== undefined, (query) =>
      query.where('machine_id', '=', filter.machineId!),
    )
  return newestFirst('prv', filter, rows)
}

export async function getPreview(
  db: Database,
  actor: Actor,
  machineId: MachineId,
  id: PreviewId,
): Promise<PreviewRow> {
  const preview = await db
    .selectFrom('previews')
    .selectAll()
    .where('id', '=', id)
    .where('machine_id', '=', machineId)
    .where('organization_id', '=', actor.organizationId)
    .executeTakeFirst()
  if (!preview) throw notFound(`published port ${id} of machine ${machineId}`)
  return preview
}

/** Open requests are aborted, and the hostname is never used again. */
export async function unpublishPort(
  app: Pick<App, 'db' | 'changes'>,
  actor: Actor,
  machineId: MachineId,
  id: PreviewId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const machine = await getMachine(tx, actor, machineId)
    const preview = await getPreview(tx, actor, machineId, id)
    const gone = await tx.deleteFrom('previews').where('id', '=', id).executeTakeFirst()
    if (gone.numDeletedRows === 0n) throw notFound(`published port ${id}`)
    const target = auditTarget(preview, machine.name)
    await noteAudit(tx, { ...auditedBy(actor), type: 'port.unpublished', target })
  })
  app.changes.publish(machineId)
}

function findByPort(tx: Tx, machineId: MachineId, port: number) {
  return tx
    .selectFrom('previews')
    .selectAll()
    .where('machine_id', '=', machineId)
    .where('port', '=', port)
    .executeTakeFirst()
}

async function insertPreview(
  tx: Tx,
  actor: Actor,
  preview: PublishPort & {
    readonly id: PreviewId
    readonly machine_id: MachineId
    readonly secret: string | null
  },
): Promise<PreviewRow> {
  const { secret, name, ...rest } = preview
  const label = createLabel()
  await tx.insertInto('preview_hostnames').values({ label }).execute()
  return tx
    .insertInto('previews')
    .values({
      ...rest,
      name: name ?? null,
      organization_id: actor.organizationId,
      label,
      secret_hash: secret === null ? null : hashToken(secret),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

function renewSecret(tx: Tx, { id }: PreviewRow, secret: string | null): Promise<PreviewRow> {
  return tx
    .updateTable('previews')
    .set({ secret_hash: secret === null ? null : hashToken(secret) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function auditTarget({ id, port }: PreviewRow, machineName: string) {
  return { type: 'preview', id, name: `port ${port} of ${machineName}` }
}
