import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { replaceFile } from '../../replace-file.ts'
import { Key, type Keyring } from './keyring.ts'

/**
 * The keyring as it is in its file now, or null where there is no file. It is read each time, so that
 * a key that was added counts at once, in every process. Throws when others than its owner may read
 * or change the file, or a line of it is no key.
 */
export async function readKeyring(path: string): Promise<Keyring | null> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Error(`the keyring ${path} is not a file`)
    if ((stats.mode & 0o077) !== 0) {
      throw new Error(`the keyring ${path} is open to others: chmod 600 ${path}`)
    }
    return parseKeyring(path, await file.readFile('utf8'))
  } finally {
    await file.close()
  }
}

/** Puts a new key before all others, and makes the file where there is none. */
export async function addKey(path: string): Promise<Keyring> {
  const keyring: Keyring = [Key.generate(), ...((await readKeyring(path)) ?? [])]
  const lines = keyring.map((key) => `${key.export()}\n`)
  await replaceFile(path, `${comment}${lines.join('')}`, { isDurable: true })
  return keyring
}

const comment = `# The first key encrypts secrets, all decrypt them. Lost, the secrets are lost too: keep a copy
# apart from the database. \`computer admin secrets rotate --new-key\` puts another one first.
`

function parseKeyring(path: string, text: string): Keyring {
  const keys = text.split('\n').flatMap((line, index) => {
    const key = line.trim()
    if (key === '' || key.startsWith('#')) return []
    // The line itself is told to nobody.
    if (!/^[A-Za-z0-9+/]{43}=$/.test(key)) {
      throw new Error(`line ${index + 1} of the keyring ${path} is not 32 bytes in base 64`)
    }
    return [new Key(Buffer.from(key, 'base64'))]
  })
  const [first, ...others] = keys
  if (!first) throw new Error(`the keyring ${path} has no key`)
  return [first, ...others]
}
