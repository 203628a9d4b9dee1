import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  statfsSync,
  type BigIntStats,
} from 'node:fs'
import { posix } from 'node:path'
import { invalid, Refusal } from '../refusal.ts'
import type { DenyList } from './deny.ts'

/**
 * Where a path leads, held by descriptors. Every component is opened below the descriptor of the
 * directory before it, symlinks are followed here and not by the kernel, and what is used afterwards
 * is what was opened: renaming or relinking anything on the way changes nothing any more.
 */
export class Place implements Disposable {
  readonly #held: Iterable<Entry>
  readonly directory: Entry
  /** Empty for the root directory alone. */
  readonly name: string
  /** Undefined if there is nothing of that name (a symlink's target included). */
  readonly entry: Entry | undefined

  constructor(held: Iterable<Entry>, directory: Entry, name: string, entry: Entry | undefined) {
    this.#held = held
    this.directory = directory
    this.name = name
    this.entry = entry
  }

  get path(): string {
    return posix.join(this.directory.path, this.name)
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.#held) closeSync(fd)
  }
}

/** `fd` is opened with O_PATH: it names the file without having opened it. */
export type Entry = { readonly fd: number; readonly path: string; readonly stats: BigIntStats }

export type WalkOptions = {
  readonly deny: DenyList
  readonly home: string
  /** Makes a missing directory on the way; omitted: it is not_found. */
  readonly makeDirectory?: (parent: Entry, name: string) => void
  /** A symlink at the very end is itself what is named, as for a removal. */
  readonly keepLastLink?: boolean
}

/** The path of a name in an open directory, for calls that take no descriptor. */
export function at(directory: Entry, name: string): string {
  return `${reopenable(directory)}/${name}`
}

/** The same of a name as the bytes it is, which need not be UTF-8. */
export function below(directory: Entry, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${reopenable(directory)}/`), name])
}

/** The path of what was opened, whatever has happened to its name. */
export function reopenable(entry: Entry): string {
  return `/proc/self/fd/${entry.fd}`
}

export function walk(path: string, options: WalkOptions): Place {
  const { deny, home } = options
  if (path.includes('\0')) throw invalid('a path holds no NUL character')
  deny.checkPath(posix.resolve(home, path))
  const denied = deny.look()
  const isDirectoryNamed = namesDirectory(path)

  const held = new Set<Entry>()
  const open = (openPath: string, shownPath: string, flags: number): Entry => {
    const fd = openSync(openPath, O_PATH | flags)
    const entry = { fd, path: shownPath, stats: fstatSync(fd, { bigint: true }) }
    held.add(entry)
    return entry
  }
  const drop = (entry: Entry) => {
    held.delete(entry)
    closeSync(entry.fd)
  }
  try {
    const directories = [open('/', '/', 0)]
    let final: { readonly name: string; readonly entry: Entry | undefined } | undefined
    const rest = components(posix.isAbsolute(path) ? path : `${home}/${path}`)
    let [hops, steps] = [0, 0]

    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (++steps > maxSteps) throw invalid(`${path} leads through too many directories`)
      if (name === '..') {
        if (directories.length > 1) drop(directories.pop()!)
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
      const isLast = rest.length === 0 && !isDirectoryNamed
      if (entry?.stats.isSymbolicLink() && !(isLast && options.keepLastLink)) {
        if (++hops > maxHops) throw invalid(`${path} leads through too many symlinks`)
        drop(entry)
        const target = readTarget(directory, name)
        if (posix.isAbsolute(target)) for (const one of directories.splice(1)) drop(one)
        rest.unshift(...components(target))
        continue
      }
      if (entry) denied.check(shownPath, entry.stats)
      if (entry && entry.stats.dev !== directory.stats.dev) checkFileSystem(entry)
      if (entry?.stats.isDirectory()) {
        directories.push(entry)
        continue
      }
      if (rest.length > 0 || (entry && isDirectoryNamed)) throw notDirectory(shownPath)
      final = { name, entry }
    }

    const last = directories.at(-1)!
    if (!final) {
      deny.checkPath(realPath(last))
      const name = posix.basename(last.path)
      return new Place(held, directories.at(-2) ?? last, name, last)
    }
    deny.checkPath(final.entry ? realPath(final.entry) : posix.join(realPath(last), final.name))
    // Once more: it may have become a denied file's while it was walked to.
    if (final.entry) deny.look().check(final.entry.path, final.entry.stats)
    return new Place(held, last, final.name, final.entry)
  } catch (error) {
    for (const { fd } of held) closeSync(fd)
    throw error
  }
}

/** `a/` and `a/.` are the directory, not a link to it. */
export function namesDirectory(path: string): boolean {
  return /\/\.?$/.test(path)
}

/** In /proc or /sys, where reading and writing is whatever the kernel makes of it. */
export function isOfKernel(entry: Entry): boolean {
  return /^\/(proc|sys)(\/|$)/.test(realPath(entry))
}

export function notFound(path: string): Refusal {
  return new Refusal('not_found', `${path} does not exist`)
}

export function notDirectory(path: string): Refusal {
  return invalid(`${path} is not a directory`)
}

/** Of the kernel's flags; Node has no constant for it. */
export const O_PATH = 0o10000000
const maxHops = 40
/** A path and what its symlinks hold come to less; each step may hold a descriptor. */
const maxSteps = 4096

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** What the kernel says was opened, whatever it was called on the way. */
function realPath(entry: Entry): string {
  return readlinkSync(reopenable(entry))
}

function readTarget(directory: Entry, name: string): string {
  const target = readlinkSync(at(directory, name), 'buffer')
  const text = target.toString('utf8')
  if (Buffer.from(text, 'utf8').equals(target)) return text
  throw invalid(`${posix.join(directory.path, name)} leads to a name that is not UTF-8`)
}

const procMagic = 0x9fa0

/** The denied paths of /proc are known only where it is mounted as ever. */
function checkFileSystem(entry: Entry): void {
  if (entry.path === '/proc' || statfsSync(reopenable(entry)).type !== procMagic) return
  throw new Refusal('permission_denied', `${entry.path} is not open to the file routes`)
}

function openIfThere(open: () => Entry): Entry | undefined {
  try {
    return open()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
