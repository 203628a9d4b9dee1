import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { ImageFiles } from './machine-driver.ts'

const chunkBytes = 1024 * 1024

/** The digest of both files, by which an engine identifies an image. */
export async function fingerprintOf(files: ImageFiles): Promise<string> {
  const hash = createHash('sha256')
  // One buffer for all: a stream makes one for each chunk, and collecting them takes longer than hashing.
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (const path of [files.metadataPath, files.rootfsPath]) {
    await using file = await open(path)
    for (;;) {
      const { bytesRead } = await file.read(buffer)
      if (bytesRead === 0) break
      hash.update(buffer.subarray(0, bytesRead))
    }
  }
  return hash.digest('hex')
}
