import type { App } from '../../app.ts'
import { rotateSecrets } from '../../domain/secrets/rotation.ts'
import { addKey, readKeyring } from '../../domain/secrets/keyring-file.ts'
import { rotateWebhookSecrets } from '../../domain/webhooks/secret-rotation.ts'
import type { AdminAnswer } from './request.ts'

/** Throws if a secret could not be decrypted, so that its key is not removed from the keyring. */
export async function rotate(
  app: Pick<App, 'db' | 'config'>,
  { newKey }: { readonly newKey: boolean },
): Promise<AdminAnswer> {
  const { keyringPath: path } = app.config
  const keyring = newKey ? await addKey(path) : await readKeyring(path)
  if (!keyring) throw new Error(`there is no keyring ${path}; pass --new-key to create one`)
  const parts = [await rotateSecrets(app, keyring), await rotateWebhookSecrets(app, keyring)]
  const rotated = parts.reduce((sum, part) => sum + part.rotated, 0)
  const unopened = parts.flatMap((part) => part.unopened)
  if (unopened.length > 0) {
    const lines = unopened.map(({ secret, reason }) => `  ${secret}: ${reason}`)
    throw new Error(
      `re-encrypted ${rotated} secrets, but could not decrypt these:\n${lines.join('\n')}`,
    )
  }
  const key = keyring[0].id.toString('hex')
  const text = `all secrets use the key ${key} (${rotated} re-encrypted); the keyring ${path} needs no other key`
  return { json: { key, rotated }, text }
}
