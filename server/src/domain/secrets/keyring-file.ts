import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { replaceFile } from '../../replace-file.ts'
import { Key, type Keyring } from './keyring.ts'

/**
 * Reads the keyring, or returns null if there is no file. Read it for each use, so that a new key takes
 * effect at once in every process. Throws if others than the owner have access to the file, or if a line
 * is not a key.
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
      throw new Error(`other users have access to the keyring ${path}; run chmod 600 ${path}`)
    }
    return parseKeyring(path, await file.readFile('utf8'))
  } finally {
    await file.close()
  }
}

/** Adds a key before all others. Creates the file if there is none. */
export async function addKey(path: string): Promise<Keyring> {
  const keyring: Keyring = [Key.generate(), ...((await readKeyring(path)) ?? [])]
  const lines = keyring.map((key) => `${key.export()}\n`)
  await replaceFile(path, `${comment}${lines.join('')}`, { isDurable: true })
  return keyring
}

const comment = `# The first key encrypts secrets, all keys decrypt them. Without these keys the secrets are lost: keep
# a copy apart from the database. \`computer admin secrets rotate --new-key\` adds a new first key.
`

function parseKeyring(path: string, text: string): Keyring {
  const keys = text.split('\n').flatMap((line, index) => {
    const key = line.trim()
    if (key === '' || key.startsWith('#')) return []
    // The message must not contain the line, which may be a damaged key.
    if (!/^[A-Za-z0-9+/]{43}=$/.test(key)) {
      throw new Error(`line ${index + 1} of the keyring ${path} is not 32 bytes in base 64`)
    }
    return [new Key(Buffer.from(key, 'base64'))]
  })
  const [first, ...others] = keys
  if (!first) throw new Error(`the keyring ${path} has no key`)
  return [first, ...others]
}
