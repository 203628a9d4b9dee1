import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { loadDump } from '../db/load.ts'
import { listRestoredMachines, settleRestored } from '../domain/backups/restored.ts'
import { recordCapacity } from '../domain/hosts/capacity.ts'
import { gatherOnHost } from '../domain/machines/gathering.ts'
import type { MachineDriver } from '../drivers/machine-driver.ts'
import { replaceFile } from '../replace-file.ts'
import { specOf } from '../worker/spec.ts'
import type { Backup, BackupIndex } from './index-file.ts'
import { chainOf } from './retention.ts'
import { extractFiles } from './small-files.ts'
import { readStored } from './stored-file.ts'

/* The parts of a restore, in the order in which a new host needs them. None of them can be repeated. */

/** A backup and the folder that it is in. */
export type Source = {
  readonly path: string
  readonly index: BackupIndex
  readonly backup: Backup
}

export async function restoreFiles(
  { path, backup }: Source,
  { dataDir }: Pick<Config, 'dataDir'>,
): Promise<void> {
  await extractFiles(readStored(path, backup.files), dataDir)
}

/** After the files, because the settings among them say where the keyring is. False if the backup has none. */
export async function restoreKeyring(
  { path, backup }: Source,
  { keyringPath }: Pick<Config, 'keyringPath'>,
): Promise<boolean> {
  if (!backup.keyring) return false
  const keyring = await text(readStored(path, backup.keyring))
  await replaceFile(keyringPath, keyring, { isDurable: true })
  return true
}

export async function restoreDatabase(
  { path, backup }: Source,
  databaseUrl: string,
  wait: (text: string) => void,
): Promise<void> {
  const files = new Map(backup.tables.map(({ name, file }) => [name, file]))
  await loadDump(databaseUrl, backup, async ({ name }) => {
    wait(`filling the database: ${name}`)
    return readStored(path, files.get(name)!)
  })
}

type Parts = {
  readonly db: Database
  readonly driver: MachineDriver
  readonly config: Config
  readonly wait: (text: string) => void
}

/**
 * Makes the disks of all machines and captures, and then the rows true of this host. Returns how many machines are stopped
 * that ran, because the host has no memory for them.
 */
export async function restoreDisks(parts: Parts, source: Source): Promise<number> {
  const { db, driver, config, wait } = parts
  const { path, index, backup } = source
  await driver.prepare()
  for (const id of backup.images) {
    wait('unpacking machine images')
    await restoreImage(parts, source, id)
  }
  for (const [count, id] of backup.captures.entries()) {
    wait(`restoring snapshots and templates: ${count} of ${backup.captures.length}`)
    const capture = index.captures.find((one) => one.id === id)
    if (!capture) throw new Error(`the folder lacks the disk of a snapshot: ${id}`)
    const transfer = { imageId: capture.image_id, base: null }
    await driver.receiveCapture(id, transfer, readStored(path, capture.file))
  }
  const rows = await listRestoredMachines(db)
  for (const [count, { id, link }] of backup.machines.entries()) {
    wait(`restoring machines: ${count} of ${backup.machines.length}`)
    const row = rows.get(id)
    if (!row) throw new Error(`the database of the backup lacks machine ${id}`)
    await receiveChain(driver, source, link)
    await driver.create({ ...specOf({ config }, row), captureId: link })
    await driver.removeCapture(link)
  }
  await recordCapacity({ db, config, driver })
  return db.transaction().execute(async (tx) => {
    await settleRestored(tx, config)
    return gatherOnHost(tx, config.host)
  })
}

async function restoreImage(
  { driver, config }: Parts,
  { path, index }: Source,
  id: Backup['images'][number],
): Promise<void> {
  const image = index.images.find((one) => one.id === id)
  if (!image) throw new Error(`the folder lacks the machine image ${id}`)
  const folder = join(config.dataDir, 'run', `image-${id}`)
  const files = { metadataPath: join(folder, 'metadata'), rootfsPath: join(folder, 'rootfs') }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await pipeline(readStored(path, image.metadata), createWriteStream(files.metadataPath))
    await pipeline(readStored(path, image.rootfs), createWriteStream(files.rootfsPath))
    await driver.addImage(id, files)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes each link a capture from the one before. The last one stays. */
async function receiveChain(
  driver: MachineDriver,
  { path, index }: Source,
  last: Backup['machines'][number]['link'],
): Promise<void> {
  for (const { id, image_id: imageId, base, file } of chainOf(index, last)) {
    await driver.receiveCapture(id, { imageId, base }, readStored(path, file))
    if (base) await driver.removeCapture(base)
  }
}
