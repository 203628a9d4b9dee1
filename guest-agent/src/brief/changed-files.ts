import type { GuestBrief } from '@computer/contract/guest-brief'
import { constants, type Stats } from 'node:fs'
import { lstat, open, opendir, type FileHandle } from 'node:fs/promises'
import { O_PATH } from '../files/walk.ts'
import { isIgnoredFile, isIgnoredFolder } from './ignored.ts'

type ChangedFiles = Pick<GuestBrief, 'files' | 'has_more_files'>

/** The bounds of a search: the files may be many and deep, on a file system that does not answer. */
type SearchLimits = {
  readonly timeMs: number
  readonly entries: number
  readonly depth: number
  /** The length of the paths of folders that were found and not read yet, in bytes. */
  readonly pathBytes: number
}

const defaults: SearchLimits = {
  timeMs: 1500,
  entries: 200_000,
  depth: 32,
  pathBytes: 4 * 1024 * 1024,
}
const mostFiles = 200
const maxPathLength = 4096
/** Looked at together. */
const batchSize = 64

/**
 * Finds the regular files below a home that changed since a time. It reads the folders that are nearest to the home
 * first. It opens each by the descriptors of those above, so that it follows no symlink whatever changes meanwhile,
 * and stays on the file system of the home. When a limit ends the search, the answer says that there are more.
 */
export class FileSearch {
  readonly #limits: SearchLimits
  /** One at a time: those that an unresponsive file system holds up must not take all threads. */
  #last: Promise<void> = Promise.resolve()

  constructor(limits: Partial<SearchLimits> = {}) {
    this.#limits = { ...defaults, ...limits }
  }

  /** At most 200, the newest first. */
  async find(home: string, sinceMs: number): Promise<ChangedFiles> {
    const search = new Search(home, sinceMs, this.#limits)
    this.#last = this.#last.then(() => search.run())
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      search.end()
      late.resolve()
    }, this.#limits.timeMs)
    await Promise.race([this.#last, late.promise])
    clearTimeout(timer)
    return search.result()
  }
}

/** A path below the home, as the file system has it, with one character for each byte. */
type Path = string
type Found = { readonly path: Path; readonly size: number; readonly changedMs: number }

class Search {
  readonly #home: string
  readonly #sinceMs: number
  readonly #limits: SearchLimits
  readonly #folders: Path[] = ['']
  #newest: Found[] = []
  #entries = 0
  #pathBytes = 0
  #isOver = false
  #hasMore = false

  constructor(home: string, sinceMs: number, limits: SearchLimits) {
    this.#home = home
    this.#sinceMs = sinceMs
    this.#limits = limits
  }

  /** A limit is reached. */
  end(): void {
    this.#isOver = true
    this.#hasMore = true
  }

  result(): ChangedFiles {
    this.#keepNewest()
    const files = this.#newest.map(({ path, size }) => ({ path: this.#shown(path), size }))
    return { files, has_more_files: this.#hasMore }
  }

  /** Leaves out what is gone or cannot be read. */
  async run(): Promise<void> {
    if (this.#isOver) return
    const home = await open(this.#home, O_PATH | constants.O_DIRECTORY).catch(() => undefined)
    if (!home) return
    try {
      const { dev } = await home.stat()
      // The list grows meanwhile.
      for (const path of this.#folders) {
        if (this.#isOver) return
        this.#pathBytes -= path.length
        await this.#readFolder(home, dev, path).catch(() => {})
      }
    } finally {
      await home.close()
    }
  }

  async #readFolder(home: FileHandle, device: number, path: Path): Promise<void> {
    const folder = path === '' ? undefined : await openFolder(home, path)
    try {
      const { fd } = folder ?? home
      if (folder && (await folder.stat()).dev !== device) return
      const options = { encoding: 'latin1', bufferSize: batchSize } as const
      let names: string[] = []
      for await (const { name } of await opendir(`/proc/self/fd/${fd}`, options)) {
        if (names.push(name) < batchSize) continue
        await this.#readEntries(fd, path, names)
        if (this.#isOver) return
        names = []
      }
      await this.#readEntries(fd, path, names)
    } finally {
      await folder?.close()
    }
  }

  async #readEntries(folder: number, above: Path, names: readonly string[]): Promise<void> {
    this.#entries += names.length
    if (this.#entries > this.#limits.entries) this.end()
    const all = names.map((name) => lstat(pathOf(folder, name)).catch(() => undefined))
    for (const [index, stats] of (await Promise.all(all)).entries()) {
      const name = names[index]!
      const path = above === '' ? name : `${above}/${name}`
      if (stats?.isDirectory()) this.#addFolder(name, path)
      else if (stats?.isFile()) this.#addFile(name, path, stats)
    }
  }

  #addFolder(name: string, path: Path): void {
    if (isIgnoredFolder(name, path)) return
    const isDeep = path.split('/').length > this.#limits.depth
    if (isDeep || this.#pathBytes + path.length > this.#limits.pathBytes) {
      this.#hasMore = true
      return
    }
    this.#pathBytes += path.length
    this.#folders.push(path)
  }

  #addFile(name: string, path: Path, { size, mtimeMs, ctimeMs }: Stats): void {
    const changedMs = Math.max(mtimeMs, ctimeMs)
    if (changedMs < this.#sinceMs || isIgnoredFile(name, path, size)) return
    if (this.#shown(path).length > maxPathLength) {
      this.#hasMore = true
      return
    }
    this.#newest.push({ path, size, changedMs })
    if (this.#newest.length >= 2 * mostFiles) this.#keepNewest()
  }

  #keepNewest(): void {
    this.#newest.sort((a, b) => b.changedMs - a.changedMs)
    if (this.#newest.length <= mostFiles) return
    this.#newest.length = mostFiles
    this.#hasMore = true
  }

  /** Bytes that are no UTF-8 are shown as the replacement character. */
  #shown(path: Path): string {
    return `${this.#home}/${Buffer.from(path, 'latin1').toString('utf8')}`
  }
}

/** The caller closes it. Throws if it is gone, or a symlink is on the way. */
async function openFolder(home: FileHandle, path: Path): Promise<FileHandle> {
  let folder = home
  for (const name of path.split('/')) {
    const above = folder
    try {
      folder = await open(pathOf(above.fd, name), folderFlags)
    } finally {
      if (above !== home) await above.close()
    }
  }
  return folder
}

const folderFlags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW

function pathOf(folder: number, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), Buffer.from(name, 'latin1')])
}
