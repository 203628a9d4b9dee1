import { ImageId, MachineId } from '@computer/contract'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../replace-file.ts'

/*
 * backups.json in a backup folder: all backups in it, and the files of each with their digests. It is replaced as the
 * last step of a backup, so a backup that it does not name does not exist, and a file that it does not name is a
 * leftover.
 */

const CaptureId = z.templateLiteral(['cap_', z.string().regex(/^[0-9a-z]{20,32}$/)])

/** A file, compressed with zstd. The digest is of the file as it is stored. */
const StoredFile = z.strictObject({
  path: z.string(),
  sha256: z.string().length(64),
  bytes: z.number(),
})
export type StoredFile = z.infer<typeof StoredFile>

/** A disk of a machine at the moment of a backup, as what differs from an earlier link, or from its image. */
const Link = z.strictObject({
  id: CaptureId,
  machine_id: MachineId,
  generation: z.number(),
  image_id: ImageId,
  base: CaptureId.nullable(),
  file: StoredFile,
})
export type Link = z.infer<typeof Link>

const StoredCapture = z.strictObject({ id: CaptureId, image_id: ImageId, file: StoredFile })
const StoredImage = z.strictObject({ id: ImageId, metadata: StoredFile, rootfs: StoredFile })

const Backup = z.strictObject({
  id: z.string(),
  /** The moment that it shows. */
  created_at: z.iso.datetime(),
  /** The name of the host that its machines are recorded under. */
  host: z.string(),
  /** The size of its own files; earlier backups have the others. */
  added_bytes: z.number(),
  migrations: z.array(z.string()),
  tables: z.array(
    z.strictObject({ name: z.string(), columns: z.array(z.string()), file: StoredFile }),
  ),
  sequences: z.array(z.strictObject({ name: z.string(), last: z.string(), isCalled: z.boolean() })),
  /** The archive of the small files of the data folder. */
  files: StoredFile,
  /** Null if it was left out. */
  keyring: StoredFile.nullable(),
  images: z.array(ImageId),
  captures: z.array(CaptureId),
  /** The link of each machine's disk. */
  machines: z.array(z.strictObject({ id: MachineId, generation: z.number(), link: CaptureId })),
  /** Ids of machines and captures whose disks the engine did not have. */
  missing: z.array(z.string()),
})
export type Backup = z.infer<typeof Backup>

const BackupIndex = z.strictObject({
  version: z.literal(1),
  /** Names the folder, wherever it is mounted. */
  id: z.string().regex(/^[0-9a-z]{20,32}$/),
  /** The oldest first. */
  backups: z.array(Backup),
  images: z.array(StoredImage),
  captures: z.array(StoredCapture),
  links: z.array(Link),
})
export type BackupIndex = z.infer<typeof BackupIndex>

export const indexName = 'backups.json'

/** Undefined if the folder has none. */
export async function readIndex(folder: string): Promise<BackupIndex | undefined> {
  const path = join(folder, indexName)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return BackupIndex.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(`${path} was written by another version of Computer, or is damaged`, { cause })
  }
}

export async function writeIndex(folder: string, index: BackupIndex): Promise<void> {
  await replaceFile(join(folder, indexName), `${JSON.stringify(index, null, 1)}\n`, {
    isDurable: true,
  })
}
