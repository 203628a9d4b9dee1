import type { App } from '../../app.ts'
import type { WebhookRow } from '../../db/database.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { resealAll, type Rotation } from '../secrets/reseal.ts'
import { resealSecrets } from './signature.ts'

/**
 * Encrypts the signing secrets of all webhooks again with the first key of the keyring, unless they already are. Runs
 * beside the server: a secret that is replaced meanwhile is left as it is.
 */
export async function rotateWebhookSecrets(
  app: Pick<App, 'db'>,
  keyring: Keyring,
): Promise<Rotation> {
  return resealAll<WebhookRow>({
    readPage: (after, limit) => readPage(app, after, limit),
    reseal: (webhook) => rotateOne(app, keyring, webhook),
    describe: ({ id }) => `the signing secret of ${id}`,
  })
}

async function readPage(
  { db }: Pick<App, 'db'>,
  after: WebhookRow | null,
  limit: number,
): Promise<WebhookRow[]> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .$if(after !== null, (query) => query.where('id', '>', after!.id))
    .orderBy('id')
    .limit(limit)
    .execute()
}

async function rotateOne(
  { db }: Pick<App, 'db'>,
  keyring: Keyring,
  webhook: WebhookRow,
): Promise<boolean> {
  const sealed = resealSecrets(keyring, webhook)
  if (!sealed) return false
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set(sealed)
    .where('id', '=', webhook.id)
    .where('secret_sealed', '=', webhook.secret_sealed)
    .where('former_sealed', 'is not distinct from', webhook.former_sealed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
