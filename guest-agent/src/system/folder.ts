import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { AtomicFile } from './atomic-file.ts'

/**
 * A directory of the machine's disk, held by a descriptor. The machine's root may have put anything
 * there: no call follows a symlink, on the way or inside, or blocks on a pipe.
 */
export class Folder implements Disposable {
  readonly #fd: number

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** Undefined if the directory does not exist or a symlink is on the way. */
  static open(path: string): Folder | undefined {
    let folder = new Folder(openSync('/', directoryFlags))
    for (const name of componentsOf(path)) {
      using parent = folder
      const next = parent.#enter(name)
      if (!next) return undefined
      folder = next
    }
    return folder
  }

  /** Creates missing directories on the way, accessible to root alone by default. */
  static make(path: string, mode = 0o700): Folder {
    let folder = new Folder(openSync('/', directoryFlags))
    for (const name of componentsOf(path)) {
      using parent = folder
      folder = parent.#enter(name) ?? parent.makeFolder(name, mode)
    }
    return folder
  }

  /** Fails if the name is taken. */
  makeFolder(name: string, mode = 0o700): Folder {
    mkdirSync(this.#path(name), mode)
    const folder = this.#enter(name)
    if (!folder) throw new Error(`${name} was replaced while it was created`)
    return folder
  }

  names(): string[] {
    return readdirSync(this.#fdPath)
  }

  has(name: string): boolean {
    return this.#stat(name) !== undefined
  }

  isFile(name: string): boolean {
    return this.#stat(name)?.isFile() ?? false
  }

  /** The text of a regular file; undefined for anything else and for a file beyond `maxBytes`. */
  read(name: string, maxBytes = 4 * 1024 * 1024): string | undefined {
    if (!this.isFile(name)) return undefined
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const fd = openSync(this.#path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
    } finally {
      closeSync(fd)
    }
  }

  /** Replaces the file, symlink or pipe of that name atomically. Fails if it is a directory. */
  write(
    name: string,
    text: string,
    mode: number,
    owner?: { readonly uid: number; readonly gid: number },
  ): void {
    using file = new AtomicFile(this.#fdPath, mode)
    if (owner) fchownSync(file.fd, owner.uid, owner.gid)
    writeFileSync(file.fd, text)
    file.commit(name)
  }

  /** Removes the entry itself, never what it points to. Leaves a directory alone. */
  remove(name: string): void {
    const stats = this.#stat(name)
    if (stats && !stats.isDirectory()) unlinkSync(this.#path(name))
  }

  removeFolder(name: string): void {
    rmSync(this.#path(name), { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }

  #enter(name: string): Folder | undefined {
    try {
      return new Folder(openSync(this.#path(name), directoryFlags))
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return undefined
      throw error
    }
  }

  #stat(name: string): Stats | undefined {
    return lstatSync(this.#path(name), { throwIfNoEntry: false })
  }

  get #fdPath(): string {
    return `/proc/self/fd/${this.#fd}`
  }

  #path(name: string): string {
    return `${this.#fdPath}/${name}`
  }
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

function componentsOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}
