import type { App } from '../../app.ts'
import { rotateSecrets } from '../../domain/secrets/rotation.ts'
import { addKey, readKeyring } from '../../domain/secrets/keyring-file.ts'
import type { AdminAnswer } from './request.ts'

/** Throws if a secret could not be decrypted, so that its key is not removed from the keyring. */
export async function rotate(
  app: Pick<App, 'db' | 'config'>,
  { newKey }: { readonly newKey: boolean },
): Promise<AdminAnswer> {
  const { keyringPath: path } = app.config
  const keyring = newKey ? await addKey(path) : await readKeyring(path)
  if (!keyring) throw new Error(`there is no keyring ${path}; pass --new-key to create one`)
  const { rotated, unopened } = await rotateSecrets(app, keyring)
  if (unopened.length > 0) {
    const lines = unopened.map((one) => `  ${one.name} of ${one.machine_id}: ${one.reason}`)
    throw new Error(
      `re-encrypted ${rotated} secrets, but could not decrypt these:\n${lines.join('\n')}`,
    )
  }
  const key = keyring[0].id.toString('hex')
  const text = `all secrets use the key ${key} (${rotated} re-encrypted); the keyring ${path} needs no other key`
  return { json: { key, rotated }, text }
}
