import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file whole or not at all: a reader sees the old content or the new one. With `isDurable`
 * the new content also survives a power cut once this resolves; without it, a file that can be made
 * again costs no disk flush.
 */
export async function replaceFile(
  path: string,
  content: string,
  { isDurable, mode = 0o600 }: { readonly isDurable: boolean; readonly mode?: number },
): Promise<void> {
  // A name of its own, so that concurrent writers do not mix their content.
  const partial = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    await using file = await open(partial, 'wx', mode)
    await file.writeFile(content)
    if (isDurable) await file.sync()
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  if (!isDurable) return
  await using folder = await open(dirname(path), 'r')
  await folder.sync()
}
