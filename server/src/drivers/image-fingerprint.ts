import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { ImageFiles } from './machine-driver.ts'

/** The digest of both files, by which an engine identifies an image. */
export async function fingerprintOf(files: ImageFiles): Promise<string> {
  const hash = createHash('sha256')
  for (const path of [files.metadataPath, files.rootfsPath]) {
    await pipeline(createReadStream(path), hash, { end: false })
  }
  return hash.digest('hex')
}
