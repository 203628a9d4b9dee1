import { existsSync, realpathSync } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { listMounts } from '../engine-mounts.ts'
import { socketDir } from '../postgres.ts'

/** What a server and the set-up make in a data folder. `run` is last: it shows that the folder is ours. */
const entries = [
  'computer.env',
  'owner.key',
  'secrets.keyring',
  'postgres',
  'engine',
  'images',
  'guest',
  'previews',
  'restore-is-unfinished',
  'logs',
  'run',
]

/** Whether a server was ever started on a data folder. Another folder must not be taken for one. */
export function isDataFolder(dataDir: string): boolean {
  return existsSync(join(dataDir, 'run', 'server.lock'))
}

/**
 * Removes a data folder that nothing uses any more. Resolves to the names of files in it that the server has
 * not made, which stay with the folder. Nothing is removed while something is mounted in it.
 */
export async function removeDataFolder(dataDir: string): Promise<readonly string[]> {
  const [mount] = await listMounts(`${realpathSync(dataDir)}/`)
  if (mount !== undefined) {
    throw new Error(`${mount} is mounted in the data folder: unmount it, then run this again`)
  }
  const sockets = isDataFolder(dataDir) ? [socketDir(dataDir)] : []
  const names = ownEntries(dataDir, await readdir(dataDir))
  for (const path of [...names.map((name) => join(dataDir, name)), ...sockets]) {
    await rm(path, { recursive: true, force: true })
  }
  const others = await readdir(dataDir)
  if (others.length === 0) await rmdir(dataDir).catch(ignoreFixed)
  return others
}

/** The set-up alone makes nothing but the folder of images. */
function ownEntries(dataDir: string, present: readonly string[]): readonly string[] {
  if (isDataFolder(dataDir)) {
    return [...present.filter((name) => name.startsWith('postgres.new-')), ...entries]
  }
  return existsSync(join(dataDir, 'images', '.lock')) ? ['images'] : []
}

/** A folder that is a mount point itself stays, and so does a link to a folder. Both are empty. */
function ignoreFixed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EBUSY' && error.code !== 'ENOTDIR') throw error
}
