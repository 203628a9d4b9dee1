import type { ImageId } from '@computer/contract'
import { createReadStream, existsSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import type { Moment } from '../db/dump.ts'
import type { DiskKeeper } from '../drivers/disk-keeper.ts'
import type { ImageFile } from '../drivers/machine-driver.ts'
import { catchDisks } from './catch-disks.ts'
import type { BackupFolder } from './folder.ts'
import type { Backup, StoredFile } from './index-file.ts'
import { keepNewest, newestLinks } from './retention.ts'
import { archiveFiles } from './small-files.ts'
import { storeDisks } from './store-disks.ts'
import { storeFile } from './stored-file.ts'

export type BackupParts = {
  readonly databaseUrl: string
  readonly db: Database
  /** Streams a file of an image that a host has. Throws ImageMissing if none has it. */
  readonly readImage: (id: ImageId, file: ImageFile) => Promise<Readable>
  /** The disks of all hosts. */
  readonly keeper: DiskKeeper
  readonly config: Pick<Config, 'dataDir' | 'keyringPath' | 'host'>
  /** Shows what is being done. */
  readonly wait: (text: string) => void
  /** Ends the backup, which then fails. */
  readonly signal: AbortSignal
}

export type BackupOptions = {
  /** Disks are stored as what differs from their images, as if there were no earlier backup. */
  readonly isFull: boolean
  readonly withKeyring: boolean
  /** The oldest backups are removed until this many are left. Null: none. */
  readonly keep: number | null
}

/**
 * Backs a server up that runs. If it fails, the folder has the backups that it had before. The next backup removes what
 * a process left that was killed.
 */
export async function backUp(
  parts: BackupParts,
  folder: BackupFolder,
  options: BackupOptions,
): Promise<Backup> {
  await dropUnused(parts.keeper, folder)
  try {
    return await addBackup(parts, folder, options)
  } catch (error) {
    // The reason of the failure may be in the way of this as well.
    await folder.replaceIndex(folder.index).catch(() => {})
    await dropUnused(parts.keeper, folder).catch(() => {})
    throw error
  }
}

async function addBackup(
  parts: BackupParts,
  folder: BackupFolder,
  options: BackupOptions,
): Promise<Backup> {
  const { keeper, config, wait } = parts
  wait('keeping the disks')
  const stored = new Set(folder.index.captures.map(({ id }) => id))
  const store = countingStore(folder.path, parts.signal)
  const caught = await catchDisks(parts, stored)
  const createdAt = new Date()
  const id = nameBackup(folder, createdAt)
  wait('copying the database')
  const database = await storeDatabase(caught.moment, id, store.file)
  wait('copying the files of the data folder')
  const files = await store.file(`backups/${id}/files.tar.zst`, archiveFiles(config))
  const hasKeyring = options.withKeyring && existsSync(config.keyringPath)
  const keyring = hasKeyring
    ? await store.file(`backups/${id}/keyring.zst`, createReadStream(config.keyringPath))
    : null

  const disks = await storeDisks({ ...parts, store: store.file }, folder.index, caught, options)
  const backup: Backup = {
    id,
    created_at: createdAt.toISOString(),
    host: config.host,
    added_bytes: store.bytes(),
    ...database,
    files,
    keyring,
    ...disks.contents,
    missing: [...caught.missing],
  }
  const next = { ...disks.index, backups: [...folder.index.backups, backup] }
  await folder.replaceIndex(keepNewest(next, options.keep ?? next.backups.length))
  await dropUnused(keeper, folder)
  return backup
}

/** Keeps in the pool what the next backup can be based on, and nothing else. */
async function dropUnused(keeper: DiskKeeper, { index }: BackupFolder): Promise<void> {
  const bases = new Set(Array.from(newestLinks(index).values(), ({ id }) => id))
  for (const kept of await keeper.listKept()) {
    if (!bases.has(kept.id)) await keeper.drop(kept)
  }
}

/** The time of its moment, such as 20270131T235959Z. */
function nameBackup({ index }: BackupFolder, at: Date): string {
  const name = at.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const taken = new Set(index.backups.map(({ id }) => id))
  for (let number = 2, id = name; ; id = `${name}-${number++}`) if (!taken.has(id)) return id
}

/** Ends the moment. */
async function storeDatabase(
  opened: Moment,
  id: string,
  store: Store,
): Promise<Pick<Backup, 'migrations' | 'tables' | 'sequences'>> {
  await using moment = opened
  const tables: Backup['tables'] = []
  for (const table of moment.tables) {
    const file = await store(`backups/${id}/database/${table.name}.zst`, moment.readTable(table))
    tables.push({ name: table.name, columns: [...table.columns], file })
  }
  const sequences = [...(await moment.readSequences())]
  return { migrations: [...moment.migrations], tables, sequences }
}

export type Store = (path: string, source: Readable) => Promise<StoredFile>

/** Counts the bytes of the files that it stores. */
function countingStore(
  folder: string,
  signal: AbortSignal,
): { readonly file: Store; bytes(): number } {
  let bytes = 0
  return {
    async file(path, source) {
      const file = await storeFile(folder, path, source, signal)
      bytes += file.bytes
      return file
    },
    bytes: () => bytes,
  }
}
