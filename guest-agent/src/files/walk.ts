import { closeSync, constants, fstatSync, openSync, readlinkSync, type BigIntStats } from 'node:fs'
import { posix } from 'node:path'
import { invalid, Refusal } from '../refusal.ts'
import type { DenyList } from './deny.ts'

/**
 * Where a path leads, held by descriptors. Every component is opened below the descriptor of the
 * directory before it, symlinks are followed here and not by the kernel, and what is used afterwards
 * is what was opened: renaming or relinking anything on the way changes nothing any more.
 */
export class Place implements Disposable {
  readonly #owned: number[]
  readonly directory: Entry
  /** Empty for the root directory alone. */
  readonly name: string
  /** Undefined if there is nothing of that name (a symlink's target included). */
  readonly entry: Entry | undefined

  constructor(owned: number[], directory: Entry, name: string, entry: Entry | undefined) {
    this.#owned = owned
    this.directory = directory
    this.name = name
    this.entry = entry
  }

  get path(): string {
    return posix.join(this.directory.path, this.name)
  }

  [Symbol.dispose](): void {
    for (const fd of this.#owned) closeSync(fd)
  }
}

/** `fd` is opened with O_PATH: it names the file without having opened it. */
export type Entry = { readonly fd: number; readonly path: string; readonly stats: BigIntStats }

export type WalkOptions = {
  readonly deny: DenyList
  readonly home: string
  /** Makes a missing directory on the way; omitted: it is not_found. */
  readonly makeDirectory?: (parent: Entry, name: string) => void
}

/** The path of a name in an open directory, for calls that take no descriptor. */
export function at(directory: Entry, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`
}

export function walk(path: string, options: WalkOptions): Place {
  const { deny } = options
  const asWritten = posix.resolve(options.home, path)
  deny.checkPath(asWritten)

  const owned: number[] = []
  const open = (openPath: string, shownPath: string, flags: number): Entry => {
    const fd = openSync(openPath, O_PATH | flags)
    owned.push(fd)
    return { fd, path: shownPath, stats: fstatSync(fd, { bigint: true }) }
  }
  try {
    const root = open('/', '/', 0)
    let directories = [root]
    let final: { readonly name: string; readonly entry: Entry | undefined } | undefined
    const rest = components(posix.isAbsolute(path) ? path : `${options.home}/${path}`)
    let hops = 0

    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '..') {
        if (directories.length > 1) directories.pop()
        continue
      }
      const directory = directories.at(-1)!
      const shownPath = posix.join(directory.path, name)
      deny.checkPath(shownPath)
      let entry = openIfThere(() => open(at(directory, name), shownPath, constants.O_NOFOLLOW))
      if (!entry && rest.length > 0) {
        if (!options.makeDirectory) throw notFound(shownPath)
        options.makeDirectory(directory, name)
        entry = open(at(directory, name), shownPath, constants.O_NOFOLLOW)
      }
      if (entry?.stats.isSymbolicLink()) {
        if (++hops > maxHops) throw invalid(`${path} leads through too many symlinks`)
        const target = readlinkSync(at(directory, name))
        if (posix.isAbsolute(target)) directories = [root]
        rest.unshift(...components(target))
        continue
      }
      if (entry?.stats.isDirectory()) {
        deny.checkDirectory(shownPath, entry.stats)
        directories.push(entry)
        continue
      }
      if (rest.length > 0) throw invalid(`${shownPath} is not a directory`)
      final = { name, entry }
    }

    if (!final) {
      const entry = directories.at(-1)!
      const directory = directories.at(-2) ?? entry
      deny.checkPath(realPath(entry))
      return new Place(owned, directory, posix.basename(entry.path), entry)
    }
    const directory = directories.at(-1)!
    deny.checkPath(
      final.entry ? realPath(final.entry) : posix.join(realPath(directory), final.name),
    )
    return new Place(owned, directory, final.name, final.entry)
  } catch (error) {
    for (const fd of owned) closeSync(fd)
    throw error
  }
}

export function notFound(path: string): Refusal {
  return new Refusal('not_found', `${path} does not exist`)
}

/** Of the kernel's flags; Node has no constant for it. */
const O_PATH = 0o10000000
const maxHops = 40

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** What the kernel says was opened, whatever it was called on the way. */
function realPath(entry: Entry): string {
  return readlinkSync(`/proc/self/fd/${entry.fd}`)
}

function openIfThere(open: () => Entry): Entry | undefined {
  try {
    return open()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
