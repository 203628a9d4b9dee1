import type { App } from '../../app.ts'
import type { WebhookRow } from '../../db/database.ts'
import { Unopenable, type Keyring } from '../secrets/keyring.ts'
import { untilNone, type Rotation, type Unopened } from '../secrets/rotation.ts'
import { resealed } from './signature.ts'

const pageSize = 100

/** Encrypts the signing secrets of all webhooks again with the first key of the keyring, beside a server that runs. */
export async function rotateWebhookSecrets(
  app: Pick<App, 'db'>,
  keyring: Keyring,
): Promise<Rotation> {
  return untilNone(() => rotateAll(app, keyring))
}

async function rotateAll(app: Pick<App, 'db'>, keyring: Keyring): Promise<Rotation> {
  let rotated = 0
  const unopened: Unopened[] = []
  for (let after = ''; ;) {
    const rows = await readPage(app, after)
    for (const row of rows) {
      after = row.id
      try {
        if (await rotateOne(app, keyring, row)) rotated += 1
      } catch (error) {
        if (!(error instanceof Unopenable)) throw error
        unopened.push({ secret: `the signing secret of ${row.id}`, reason: error.message })
      }
    }
    if (rows.length < pageSize) return { rotated, unopened }
  }
}

async function readPage({ db }: Pick<App, 'db'>, after: string): Promise<WebhookRow[]> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '>', after as WebhookRow['id'])
    .orderBy('id')
    .limit(pageSize)
    .execute()
}

/** Leaves one alone whose secret is replaced meanwhile. */
async function rotateOne(
  { db }: Pick<App, 'db'>,
  keyring: Keyring,
  webhook: WebhookRow,
): Promise<boolean> {
  const sealed = resealed(keyring, webhook, new Date())
  if (!sealed) return false
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set(sealed)
    .where('id', '=', webhook.id)
    .where('secret_sealed', '=', webhook.secret_sealed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
