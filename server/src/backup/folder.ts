import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { chmod, readdir, rm, rmdir } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { tryLock } from '../file-lock.ts'
import { newUlid } from '../ids.ts'
import { indexName, readIndex, writeIndex, type BackupIndex } from './index-file.ts'
import { listFiles } from './retention.ts'

/** A folder of backups that this process alone writes to. */
export type BackupFolder = Disposable & {
  readonly path: string
  readonly index: BackupIndex
  /** Replaces the index, and then removes every file that it does not name. */
  replaceIndex(index: BackupIndex): Promise<void>
}

const lockName = 'lock'

/**
 * Opens a folder for a backup, and makes it if there is none. What an interrupted backup left in it is removed. Only
 * root can enter it: whoever has its files has all that is on the server.
 */
export async function openBackupFolder(given: string, dataDir: string): Promise<BackupFolder> {
  const path = resolve(given)
  if (`${path}${sep}`.startsWith(`${resolve(dataDir)}${sep}`)) {
    throw new Error(`${path} is in the data folder, and would be lost with it: use another disk`)
  }
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const known = await readIndex(path)
  if (!known) await requireUnused(path)
  const file = openSync(join(path, lockName), 'a', 0o600)
  try {
    if (!tryLock(file, ['--exclusive', '--nonblock']))
      throw new Error(`another backup to ${path} is under way`)
    // Another backup may have ended since.
    let index = (await readIndex(path)) ?? makeIndex()
    const replaceIndex = async (next: BackupIndex) => {
      await writeIndex(path, next)
      index = next
      await removeUnnamed(path, next)
    }
    if (!known) await chmod(path, 0o700)
    await replaceIndex(index)
    return {
      path,
      get index() {
        return index
      },
      replaceIndex,
      [Symbol.dispose]: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/** Throws if the folder has no backups. */
export async function readBackups(given: string): Promise<{ path: string; index: BackupIndex }> {
  const path = resolve(given)
  const index = await readIndex(path)
  if (index) return { path, index }
  throw new Error(
    existsSync(path)
      ? `${path} has no backups: there is no ${indexName}`
      : `there is no folder ${path}`,
  )
}

function makeIndex(): BackupIndex {
  return { version: 1, id: newUlid(), backups: [], images: [], captures: [], links: [] }
}

async function requireUnused(path: string): Promise<void> {
  const others = (await readdir(path)).filter((name) => ![lockName, 'lost+found'].includes(name))
  if (others.length === 0) return
  throw new Error(`${path} has other files (${others[0]}): name an empty folder for the backups`)
}

/** Removes the files of backups that broke off or were removed. */
async function removeUnnamed(path: string, index: BackupIndex): Promise<void> {
  const named = new Set(listFiles(index).map((file) => file.path))
  for (const folder of storedFolders) await removeIn(folder)

  async function removeIn(folder: string): Promise<void> {
    const entries = await readdir(join(path, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const name = `${folder}/${entry.name}`
      if (entry.isDirectory()) await removeIn(name)
      else if (!named.has(name)) await rm(join(path, name))
    }
    await rmdir(join(path, folder)).catch(() => {})
  }
}

/** All files of backups are in these. */
const storedFolders = ['backups', 'images', 'captures', 'machines'] as const
