import { isUtf8 } from 'node:buffer'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join, posix } from 'node:path'

/** An entry of a local folder, with its path relative to that. */
export type LocalEntry =
  | LocalFile
  | { readonly type: 'directory'; readonly path: string }
  | { readonly type: 'symlink'; readonly path: string; readonly target: string }
export type LocalFile = {
  readonly type: 'file'
  readonly path: string
  readonly source: string
  readonly size: number
}

/** The contents of a local folder: files, then empty directories, then symlinks. */
export type LocalTree = {
  readonly files: readonly LocalFile[]
  readonly others: readonly LocalEntry[]
  /** Entries that are neither file, directory nor symlink, and those whose names are not UTF-8. */
  readonly skipped: readonly string[]
}

export async function readTree(root: string): Promise<LocalTree> {
  const files: LocalFile[] = []
  const emptyDirectories: LocalEntry[] = []
  const symlinks: LocalEntry[] = []
  const skipped: string[] = []
  const walk = async (relative: string): Promise<void> => {
    const entries = await readdir(join(root, relative), { withFileTypes: true, encoding: 'buffer' })
    if (entries.length === 0) emptyDirectories.push({ type: 'directory', path: relative })
    for (const entry of entries) {
      const name = entry.name.toString()
      const path = posix.join(relative, name)
      const here = join(root, path)
      if (!isUtf8(entry.name)) skipped.push(here)
      else if (entry.isDirectory()) await walk(path)
      else if (entry.isSymbolicLink()) {
        const target = await readlink(here, 'buffer')
        if (isUtf8(target)) symlinks.push({ type: 'symlink', path, target: target.toString() })
        else skipped.push(here)
      } else if (entry.isFile()) {
        files.push({ type: 'file', path, source: here, size: (await lstat(here)).size })
      } else skipped.push(here)
    }
  }
  await walk('.')
  return { files, others: [...emptyDirectories, ...symlinks], skipped }
}
