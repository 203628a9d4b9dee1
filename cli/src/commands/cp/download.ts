import type { DirectoryEntry } from '@computer/sdk'
import { createWriteStream } from 'node:fs'
import { chmod, lstat, mkdir, rename, rm, stat, symlink, unlink } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { forEachFew, retryTransfer, type Transfer } from './remote.ts'

type RemoteFile = { readonly path: string; readonly size: number; readonly mode: number }
/** The contents of a directory in a machine, by path relative to it. */
type RemoteTree = {
  readonly directories: readonly string[]
  readonly files: ReadonlyMap<string, RemoteFile>
  readonly symlinks: ReadonlyMap<string, string>
  /** Entries with unusable names, and those that are neither file, directory nor symlink. */
  readonly skipped: readonly string[]
}

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
  { path, mode }: Pick<RemoteFile, 'path' | 'mode'>,
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

export async function downloadTree(
  transfer: Transfer,
  tree: RemoteTree,
  to: string,
): Promise<void> {
  await makeDirectory(to)
  for (const path of tree.directories) await makeDirectory(join(to, path))
  await forEachFew([...tree.files], async ([path, file]) =>
    downloadFile(transfer, file, join(to, path)),
  )
  // Last, so that nothing is written through a link received from the machine.
  for (const [path, target] of tree.symlinks) {
    await rm(join(to, path), { force: true })
    await symlink(target, join(to, path))
  }
}

/** Lists parents before their contents. */
export async function readRemoteTree(
  { machine, signal }: Pick<Transfer, 'machine' | 'signal'>,
  root: string,
): Promise<RemoteTree> {
  const directories: string[] = []
  const files = new Map<string, RemoteFile>()
  const symlinks = new Map<string, string>()
  const skipped: string[] = []
  const walk = async (relative: string): Promise<void> => {
    const inner: string[] = []
    const page = machine.files.list(posix.join(root, relative), { limit: 100, signal })
    for await (const entry of page) {
      const path = posix.join(relative, entry.name)
      const { type, size, mode, target } = entry
      if (!isPlain(entry)) skipped.push(path)
      else if (type === 'directory') inner.push(path)
      else if (type === 'symlink' && target !== null) symlinks.set(path, target)
      else if (type === 'file')
        files.set(path, { path: posix.join(root, path), size, mode: Number.parseInt(mode, 8) })
      else skipped.push(path)
    }
    for (const path of inner) {
      directories.push(path)
      await walk(path)
    }
  }
  await walk('.')
  return { directories, files, symlinks, skipped }
}

/** Accepts only single path components: the machine is not trusted. */
function isPlain({ name, path }: DirectoryEntry): boolean {
  return path !== null && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
}

/** Replaces a symlink that an earlier copy may have created. */
async function makeDirectory(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats?.isSymbolicLink()) await unlink(path)
  await mkdir(path, { recursive: true })
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
  const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
  const end = to !== process.stdout
  await pipeline(source, counting, to, { signal, end })
}
