import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { StoredFile } from './index-file.ts'

/* The files of a backup folder: compressed, and each with a digest that is compared when it is read. */

/** Fast: a disk is read, compressed and written at the speed of a slow disk. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Writes a new file, which survives a power cut once this resolves. */
export async function storeFile(
  folder: string,
  path: string,
  source: Readable,
  signal: AbortSignal,
): Promise<StoredFile> {
  const target = join(folder, path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const hash = createHash('sha256')
  const file = createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(source, createZstdCompress(compression), watch(hash.update.bind(hash)), file, {
    signal,
  })
  return { path, sha256: hash.digest('hex'), bytes: (await stat(target)).size }
}

/** Streams what was stored. The stream fails at its end if the file is not what was written. */
export function readStored(folder: string, { path, sha256 }: StoredFile): Readable {
  const hash = createHash('sha256')
  const verify = watch(hash.update.bind(hash), () => {
    if (hash.digest('hex') !== sha256)
      throw new Error(`${join(folder, path)} is damaged: its content has changed since the backup`)
  })
  const result = createZstdDecompress()
  // An error of any part reaches the reader of the result.
  pipeline(createReadStream(join(folder, path)), verify, result).catch((error: Error) =>
    result.destroy(error),
  )
  return result
}

/** Passes everything on. `onEnd` may throw, which fails the stream. */
function watch(onChunk: (chunk: Buffer) => void, onEnd = () => {}): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      onChunk(chunk)
      done(null, chunk)
    },
    flush(done) {
      try {
        onEnd()
        done()
      } catch (error) {
        done(error as Error)
      }
    },
  })
}
