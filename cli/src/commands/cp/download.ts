import { createWriteStream } from 'node:fs'
import { chmod, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { retryTransfer, type Transfer } from './remote.ts'
import { unpack } from './unpack.ts'

type WebStream = Parameters<typeof Readable.fromWeb>[0]

/** The final path: inside `path` if that is a directory, else `path` itself. */
export async function localTarget(path: string, sourceName: string): Promise<string> {
  const isDirectory = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  return isDirectory || path.endsWith('/') ? join(path, sourceName) : path
}

/** Replaces the local file atomically. */
export async function downloadFile(
  transfer: Transfer,
  { path, mode }: { readonly path: string; readonly mode: number },
  to: string,
): Promise<void> {
  const partial = join(dirname(to), `.${basename(to)}.${process.pid}.partial`)
  try {
    await retryTransfer(transfer.bar, async (count) =>
      receive(transfer, path, count, createWriteStream(partial, { mode: 0o600 })),
    )
    await chmod(partial, mode & 0o777)
    await rename(partial, to)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Writes to standard output, so it cannot retry. */
export async function downloadStream(transfer: Transfer, path: string): Promise<void> {
  await receive(transfer, path, transfer.bar.add, process.stdout)
}

/** Starts again from the beginning when the connection breaks. */
export async function downloadTree({ machine, bar, signal }: Transfer, path: string, to: string) {
  return retryTransfer(bar, async (count) => {
    const archive = Readable.fromWeb(
      (await machine.files.readArchive(path, { signal })) as WebStream,
    )
    try {
      return await unpack(archive, to, count)
    } finally {
      archive.destroy()
    }
  })
}

async function receive(
  { machine, signal }: Transfer,
  path: string,
  count: (bytes: number) => void,
  to: Writable,
): Promise<void> {
  const body = await machine.files.stream(path, { signal })
  const counting = new Transform({
    transform(piece: Buffer, _, done) {
      count(piece.length)
      done(null, piece)
    },
  })
  const source = Readable.fromWeb(body as WebStream)
  const end = to !== process.stdout
  await pipeline(source, counting, to, { signal, end })
}
