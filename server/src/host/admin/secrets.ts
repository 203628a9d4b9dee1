import type { App } from '../../app.ts'
import { rotateSecrets } from '../../domain/secrets/rotation.ts'
import { addKey, readKeyring } from '../../domain/secrets/keyring-file.ts'
import type { AdminAnswer } from './request.ts'

/** Throws when some secret is left that no key opens: the keys it needs must not be taken away. */
export async function rotate(
  app: Pick<App, 'db' | 'config'>,
  { newKey }: { readonly newKey: boolean },
): Promise<AdminAnswer> {
  const { keyringPath: path } = app.config
  const keyring = newKey ? await addKey(path) : await readKeyring(path)
  if (!keyring) throw new Error(`there is no keyring ${path}: --new-key makes one`)
  const { rotated, unopened } = await rotateSecrets(app, keyring)
  if (unopened.length > 0) {
    const lines = unopened.map((one) => `  ${one.name} of ${one.machine_id}: ${one.reason}`)
    throw new Error(`${rotated} secrets are encrypted anew; not these:\n${lines.join('\n')}`)
  }
  const key = keyring[0].id.toString('hex')
  const text = `all secrets are encrypted with the key ${key}: ${rotated} anew; the keyring ${path} needs no other`
  return { json: { key, rotated }, text }
}
