import type { CreateWebhook, UpdateWebhook, WebhookId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Config } from '../../config.ts'
import type { Database, Tx, WebhookRow } from '../../db/database.ts'
import { conflict, invalid, notFound } from '../../errors.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import { readLastActivity } from '../activity/outbox.ts'
import { readLastPosition } from '../events/outbox.ts'
import { getMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { requireKeyring } from '../secrets/secrets.ts'
import { createAddressRules } from './addresses.ts'
import { generateSecret, sealSecret } from './signature.ts'

const maxWebhooks = 50
/** Messages are signed with the former secret too for so long after a rotation. */
const formerFor = sql<Date>`clock_timestamp() + interval '24 hours'`

type Created = { readonly webhook: WebhookRow; readonly secret: string }

/**
 * What happens from now on is delivered. The secret is returned this once. Called again with the id of an interrupted
 * call, it gives that webhook a new secret: nobody has received the first.
 */
export async function createWebhook(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: WebhookId,
  { url, types, machine_id: machineId }: CreateWebhook,
): Promise<Created> {
  const keyring = await requireKeyring(app.config)
  requireReachable(app.config, url)
  const secret = generateSecret()
  const webhook = await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const row = { id, organization_id: actor.organizationId }
    const sealed = sealSecret(keyring, row, secret)
    const repeated = await replaceSecret(tx, row, sealed)
    if (repeated) return repeated
    if (machineId !== undefined) await getMachine(tx, actor, machineId)
    await requireFew(tx, actor)
    await audit(tx, actor, 'webhook.created', { id, url })
    return tx
      .insertInto('webhooks')
      .values({
        ...row,
        url,
        types: types ?? null,
        machine_id: machineId ?? null,
        secret_sealed: sealed,
        ...(await placesNow(tx)),
      })
      .returningAll()
      .executeTakeFirstOrThrow()
  })
  return { webhook, secret }
}

async function replaceSecret(
  tx: Tx,
  { id, organization_id: organizationId }: Pick<WebhookRow, 'id' | 'organization_id'>,
  sealed: Buffer,
): Promise<WebhookRow | undefined> {
  return tx
    .updateTable('webhooks')
    .set({ secret_sealed: sealed })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** The webhooks of the actor's organization, newest first. */
export async function listWebhooks(db: Database, actor: Actor, page: PageRequest) {
  const rows = db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
  return newestFirst('whk', page, rows)
}

/** Reads a webhook of the actor's organization. Another organization's does not exist. */
export async function getWebhook(db: Database, actor: Actor, id: WebhookId): Promise<WebhookRow> {
  const webhook = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!webhook) throw notFound(`webhook ${id}`)
  return webhook
}

export async function updateWebhook(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: WebhookId,
  { url, types, enabled }: UpdateWebhook,
): Promise<WebhookRow> {
  if (url !== undefined) requireReachable(app.config, url)
  return app.db.transaction().execute(async (tx) => {
    const before = await lockWebhook(tx, actor, id)
    const isEnabling = enabled === true && before.disabled_reason !== null
    await audit(tx, actor, 'webhook.updated', { id, url: url ?? before.url })
    return tx
      .updateTable('webhooks')
      .set({
        // No answer of a new address has failed yet.
        ...(url !== undefined && { url, failing_since: null }),
        ...(types !== undefined && { types }),
        ...(enabled === false && { disabled_reason: before.disabled_reason ?? 'user' }),
        ...(isEnabling && { disabled_reason: null, failing_since: null, ...(await placesNow(tx)) }),
        // A body without a field is no change, but an update must set something.
        organization_id: actor.organizationId,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

export async function deleteWebhook(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: WebhookId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const { url } = await lockWebhook(tx, actor, id)
    await audit(tx, actor, 'webhook.deleted', { id, url })
    await tx.deleteFrom('webhooks').where('id', '=', id).execute()
  })
}

/** Makes a new secret. For 24 hours the one before it signs too, and the one before that no more. */
export async function rotateWebhook(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: WebhookId,
): Promise<Created> {
  const keyring = await requireKeyring(app.config)
  const secret = generateSecret()
  const webhook = await app.db.transaction().execute(async (tx) => {
    const before = await lockWebhook(tx, actor, id)
    await audit(tx, actor, 'webhook.updated', { id, url: before.url })
    return tx
      .updateTable('webhooks')
      .set({
        secret_sealed: sealSecret(keyring, before, secret),
        former_sealed: before.secret_sealed,
        former_until: formerFor,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
  return { webhook, secret }
}

/** Reads a webhook of the actor's organization and keeps it as it is until the transaction ends. */
export async function lockWebhook(tx: Tx, actor: Actor, id: WebhookId): Promise<WebhookRow> {
  const webhook = await tx
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!webhook) throw notFound(`webhook ${id}`)
  return webhook
}

function requireReachable({ webhookNetworks }: Pick<Config, 'webhookNetworks'>, url: string): void {
  const refusal = createAddressRules(webhookNetworks).refusalOf(new URL(url))
  if (refusal !== undefined) throw invalid(`url: ${refusal}`, [{ field: 'url', message: refusal }])
}

async function requireFew(tx: Tx, actor: Actor): Promise<void> {
  const { count } = await tx
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', actor.organizationId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= maxWebhooks) {
    throw conflict(`an organization has at most ${maxWebhooks} webhooks; delete one first`)
  }
}

/** What is committed and not placed yet is delivered. */
async function placesNow(tx: Tx) {
  const [event, activity] = [await readLastPosition(tx), await readLastActivity(tx)]
  return { event_position: event, activity_position: activity }
}

/** The log names the host alone: the rest of an address may hold a secret. */
async function audit(
  tx: Tx,
  actor: Actor,
  type: 'webhook.created' | 'webhook.updated' | 'webhook.deleted',
  { id, url }: { readonly id: WebhookId; readonly url: string },
): Promise<void> {
  const target = { type: 'webhook', id, name: new URL(url).host }
  await noteAudit(tx, { ...auditedBy(actor), type, target })
}
