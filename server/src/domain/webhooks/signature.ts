import { createHmac, randomBytes } from 'node:crypto'
import type { WebhookRow } from '../../db/database.ts'
import { keyIdOf, open, seal, type Keyring } from '../secrets/keyring.ts'

/* Signatures of Standard Webhooks 1.0. */

const prefix = 'whsec_'
const secretBytes = 24

export function generateSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

type Owner = Pick<WebhookRow, 'id' | 'organization_id'>

export function sealSecret(keyring: Keyring, webhook: Owner, secret: string): Buffer {
  return seal(keyring, Buffer.from(secret), contextOf(webhook))
}

/** The headers of a message. During a rotation it is signed with both secrets. */
export function signedHeaders(
  keyring: Keyring,
  webhook: Owner & Sealed,
  message: { readonly id: string; readonly payload: string },
  now: Date,
): Readonly<Record<string, string>> {
  const isFormerValid = webhook.former_until !== null && webhook.former_until > now
  const sealed = [webhook.secret_sealed, isFormerValid ? webhook.former_sealed : null]
  const secrets = sealed
    .filter((one) => one !== null)
    .map((one) => open(keyring, one, contextOf(webhook)).toString())
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const content = `${message.id}.${timestamp}.${message.payload}`
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret, content)}`).join(' '),
  }
}

type Sealed = Pick<WebhookRow, 'secret_sealed' | 'former_sealed' | 'former_until'>

/** The secrets of a webhook, encrypted with the first key of the keyring; null if they already are. */
export function resealed(keyring: Keyring, webhook: Owner & Sealed, now: Date): Sealed | null {
  const context = contextOf(webhook)
  const isNew = (sealed: Buffer) => keyIdOf(sealed).equals(keyring[0].id)
  const again = (sealed: Buffer) =>
    isNew(sealed) ? sealed : seal(keyring, open(keyring, sealed, context), context)
  const { secret_sealed: secret, former_sealed: former, former_until: until } = webhook
  if (isNew(secret) && (former === null || isNew(former))) return null
  const isFormerValid = until !== null && until > now
  return {
    secret_sealed: again(secret),
    former_sealed: isFormerValid ? again(former!) : null,
    former_until: isFormerValid ? until : null,
  }
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  return createHmac('sha256', key).update(content).digest('base64')
}

function contextOf({ id, organization_id: organizationId }: Owner): string[] {
  return ['webhook secret', organizationId, id]
}
