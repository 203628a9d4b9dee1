import { createHmac, randomBytes } from 'node:crypto'
import type { WebhookRow } from '../../db/database.ts'
import { keyIdOf, open, seal, type Keyring } from '../secrets/keyring.ts'

/* Signatures of Standard Webhooks 1.0. */

const prefix = 'whsec_'
const secretBytes = 24

type Owner = Pick<WebhookRow, 'id' | 'organization_id'>
/** The secrets that sign, encrypted: the former one for a while after a rotation. */
type Sealed = Pick<WebhookRow, 'secret_sealed' | 'former_sealed'>

export function generateSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

export function sealSecret(keyring: Keyring, webhook: Owner, secret: string): Buffer {
  return seal(keyring, Buffer.from(secret), contextOf(webhook))
}

/** The headers of a message, with a signature of each secret. Throws Unopenable if the keyring lacks a key. */
export function signMessage(
  keyring: Keyring,
  webhook: Owner & Sealed,
  message: { readonly id: string; readonly payload: string },
  now: Date,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const content = `${message.id}.${timestamp}.${message.payload}`
  const signatures = [webhook.secret_sealed, webhook.former_sealed]
    .filter((sealed) => sealed !== null)
    .map((sealed) => open(keyring, sealed, contextOf(webhook)).toString())
    .map((secret) => `v1,${sign(secret, content)}`)
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

/** The secrets, encrypted with the first key of the keyring; null if they already are. Throws Unopenable. */
export function resealSecrets(keyring: Keyring, webhook: Owner & Sealed): Sealed | null {
  const context = contextOf(webhook)
  const isNew = (sealed: Buffer) => keyIdOf(sealed).equals(keyring[0].id)
  const reseal = (sealed: Buffer) =>
    isNew(sealed) ? sealed : seal(keyring, open(keyring, sealed, context), context)
  const { secret_sealed: secret, former_sealed: former } = webhook
  if (isNew(secret) && (former === null || isNew(former))) return null
  return { secret_sealed: reseal(secret), former_sealed: former && reseal(former) }
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  return createHmac('sha256', key).update(content).digest('base64')
}

function contextOf({ id, organization_id: organizationId }: Owner): string[] {
  return ['webhook secret', organizationId, id]
}
