import { randomBytes } from 'node:crypto'
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
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs'

/**
 * A directory of the machine's disk, held by a descriptor. Nothing here follows a symlink, on the way
 * to it or in it, or waits for the other end of a pipe, whatever root of the machine has put there.
 */
export class Folder implements Disposable {
  readonly #fd: number

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** Undefined where there is no such directory, or a symlink on the way. */
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

  /** With all that is missing of its path, for root alone unless told otherwise. */
  static make(path: string, mode = 0o700): Folder {
    let folder = new Folder(openSync('/', directoryFlags))
    for (const name of componentsOf(path)) {
      using parent = folder
      folder = parent.#enter(name) ?? parent.makeFolder(name, mode)
    }
    return folder
  }

  /** Fails where something is in its place. */
  makeFolder(name: string, mode = 0o700): Folder {
    mkdirSync(this.#at(name), mode)
    const folder = this.#enter(name)
    if (!folder) throw new Error(`${name} was replaced while it was made`)
    return folder
  }

  names(): string[] {
    return readdirSync(`/proc/self/fd/${this.#fd}`)
  }

  has(name: string): boolean {
    return this.#stat(name) !== undefined
  }

  isFile(name: string): boolean {
    return this.#stat(name)?.isFile() ?? false
  }

  /** The text of a regular file; undefined for anything else and for what is absurdly long. */
  read(name: string, maxBytes = 4 * 1024 * 1024): string | undefined {
    if (!this.isFile(name)) return undefined
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const fd = openSync(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
    } finally {
      closeSync(fd)
    }
  }

  /** A new file that takes the place of whatever had the name, at once. A directory stays. */
  write(
    name: string,
    text: string,
    mode: number,
    owner?: { readonly uid: number; readonly gid: number },
  ): void {
    const partial = `.${randomBytes(9).toString('base64url')}.partial`
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
    const fd = openSync(this.#at(partial), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode)
    try {
      if (owner) fchownSync(fd, owner.uid, owner.gid)
      writeFileSync(fd, text)
      renameSync(this.#at(partial), this.#at(name))
    } catch (error) {
      unlinkSync(this.#at(partial))
      throw error
    } finally {
      closeSync(fd)
    }
  }

  /** The entry itself, never what it points to. A directory stays. */
  remove(name: string): void {
    const stats = this.#stat(name)
    if (stats && !stats.isDirectory()) unlinkSync(this.#at(name))
  }

  removeFolder(name: string): void {
    rmSync(this.#at(name), { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }

  #enter(name: string): Folder | undefined {
    try {
      return new Folder(openSync(this.#at(name), directoryFlags))
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return undefined
      throw error
    }
  }

  #stat(name: string): Stats | undefined {
    return lstatSync(this.#at(name), { throwIfNoEntry: false })
  }

  #at(name: string): string {
    return `/proc/self/fd/${this.#fd}/${name}`
  }
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

function componentsOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}
