import { ApiError } from '@computer/sdk'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { basename, join, posix, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { forEachFew, kindOf, retryTransfer, type Transfer } from './remote.ts'

type LocalFile = { readonly path: string; readonly size: number; readonly mode: number }
/** The contents of a local directory, by path relative to it. */
type LocalTree = {
  readonly files: ReadonlyMap<string, LocalFile>
  readonly emptyDirectories: readonly string[]
  readonly symlinks: ReadonlyMap<string, string>
  /** Entries that are neither file, directory nor symlink. */
  readonly skipped: readonly string[]
}

/** The final path: inside `path` if that is a directory, else `path` itself. */
export async function remoteTarget(
  machine: Transfer['machine'],
  path: string,
  sourceName: string,
): Promise<string> {
  const isInto = path.endsWith('/') || (await kindOf(machine, path)) === 'directory'
  return isInto ? posix.join(path, sourceName) : path
}

export async function uploadFile(transfer: Transfer, file: LocalFile, to: string): Promise<void> {
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

export async function uploadTree(transfer: Transfer, tree: LocalTree, to: string): Promise<void> {
  const { machine, signal } = transfer
  await forEachFew([...tree.files], async ([path, file]) =>
    uploadFile(transfer, file, posix.join(to, path)),
  )
  const run = async (...command: string[]) => {
    const { exitCode, stderr } = await machine.exec(command, { signal })
    if (exitCode !== 0) throw new ApiError('operation_failed', stderr.trim() || command.join(' '))
  }
  for (const path of tree.emptyDirectories) await run('mkdir', '-p', '--', posix.join(to, path))
  for (const [path, target] of tree.symlinks) {
    const link = posix.join(to, path)
    await run('mkdir', '-p', '--', posix.dirname(link))
    await run('ln', '-sfn', '--', target, link)
  }
}

export async function readTree(root: string): Promise<LocalTree> {
  const files = new Map<string, LocalFile>()
  const emptyDirectories: string[] = []
  const symlinks = new Map<string, string>()
  const skipped: string[] = []
  const walk = async (relative: string): Promise<void> => {
    const entries = await readdir(join(root, relative), { withFileTypes: true })
    if (entries.length === 0) emptyDirectories.push(relative)
    for (const entry of entries) {
      const path = posix.join(relative, entry.name)
      const here = join(root, path)
      if (entry.isDirectory()) await walk(path)
      else if (entry.isSymbolicLink()) symlinks.set(path, await readlink(here))
      else if (entry.isFile()) {
        const { size, mode } = await lstat(here)
        files.set(path, { path: here, size, mode })
      } else skipped.push(here)
    }
  }
  await walk('.')
  return { files, emptyDirectories, symlinks, skipped }
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
