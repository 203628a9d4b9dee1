import { timingSafeEqual } from 'node:crypto'
import { readKeyring } from './keyring-file.ts'
import type { Keyring } from './keyring.ts'

/*
 * Processes of one server share its keyring. A process proves to the worker of another host that it has the keyring,
 * with a token that is of no use anywhere else.
 */

/** The token that the worker of the host accepts. Throws while there is no keyring. */
export async function proveTo(keyringPath: string, host: string): Promise<string> {
  const keyring = await readKeyring(keyringPath)
  if (!keyring) throw new Error(`there is no keyring ${keyringPath}, to reach other hosts with`)
  return keyring[0].derive(purposeOf(host)).toString('base64url')
}

/** Whether the token was made with any key of the keyring, as while a new key reaches all hosts. */
export async function isProof(keyringPath: string, host: string, token: string): Promise<boolean> {
  const keyring: readonly Keyring[number][] = (await readKeyring(keyringPath)) ?? []
  const given = Buffer.from(token, 'base64url')
  return keyring.some((key) => {
    const expected = key.derive(purposeOf(host))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

function purposeOf(host: string): string {
  return `worker of host ${host}`
}
