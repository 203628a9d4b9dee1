import { createReadStream } from 'node:fs'
import { basename, posix, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { LocalEntry, LocalTree } from './local-tree.ts'
import { pack } from './pack.ts'
import { kindOf, retryTransfer, type Transfer } from './remote.ts'

/** The final path: inside `path` if that is a directory, else `path` itself. */
export async function remoteTarget(
  machine: Transfer['machine'],
  path: string,
  sourceName: string,
): Promise<string> {
  const isInto = path.endsWith('/') || (await kindOf(machine, path)) === 'directory'
  return isInto ? posix.join(path, sourceName) : path
}

export async function uploadFile(
  transfer: Transfer,
  file: { readonly path: string; readonly mode: number },
  to: string,
): Promise<void> {
  const { machine, bar, signal } = transfer
  const mode = `0${(file.mode & 0o777).toString(8).padStart(3, '0')}`
  await retryTransfer(bar, async (count) => {
    const source = createReadStream(file.path, { highWaterMark: 256 * 1024 })
    try {
      await machine.files.write(to, counted(source, count), { mode, signal })
    } finally {
      source.destroy()
    }
  })
}

/** Reads standard input, so it cannot retry. */
export async function uploadStream({ machine, bar, signal }: Transfer, to: string): Promise<void> {
  await machine.files.write(to, counted(process.stdin, bar.add), { signal })
}

/** Sends the contents of a folder in one archive, or in several if they are long: each one is retried. */
export async function uploadTree(transfer: Transfer, tree: LocalTree, to: string): Promise<void> {
  const { machine, bar, signal } = transfer
  for (const part of partsOf(tree)) {
    await retryTransfer(bar, async (count) => {
      const source = watched(pack(part, count))
      try {
        await machine.files.writeArchive(to, ReadableStream.from(source.chunks), { signal })
      } catch (error) {
        // An error of reading here would look like one of the connection.
        throw source.failure() ?? error
      }
    })
  }
}

function watched(chunks: AsyncIterable<Uint8Array>) {
  let failure: unknown
  async function* pass() {
    try {
      yield* chunks
    } catch (error) {
      failure = error
      throw error
    }
  }
  return { chunks: pass(), failure: () => failure }
}

/** A lost connection costs at most this much, unless a single file is longer. */
const partBytes = 256 * 1024 * 1024

function* partsOf({ files, others }: LocalTree): Generator<readonly LocalEntry[]> {
  let part: LocalEntry[] = []
  let size = 0
  for (const file of files) {
    part.push(file)
    size += file.size
    if (size < partBytes) continue
    yield part
    part = []
    size = 0
  }
  yield [...part, ...others]
}

/** The source's own name, resolved for `.` and `..`. */
export function nameOf(path: string): string {
  return basename(resolve(path))
}

/** Reads on demand; `Readable.toWeb` would buffer thousands of chunks ahead. */
function counted(source: Readable, count: (bytes: number) => void): ReadableStream<Uint8Array> {
  async function* chunks() {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      count(chunk.length)
      yield chunk
    }
  }
  return ReadableStream.from(chunks())
}
