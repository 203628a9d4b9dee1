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
import { AgentError, invalidRequest } from '../errors.ts'
import type { DenyList } from './deny.ts'

/**
 * The result of walking a path, held by descriptors. Every component was opened relative to the
 * descriptor of its directory, and symlinks were followed here, not by the kernel. Callers use the
 * descriptors, so that renames on the way have no effect any more.
 */
export class OpenPath implements Disposable {
  readonly #held: Iterable<Entry>
  readonly directory: Entry
  /** Empty for the root directory. */
  readonly name: string
  /** Undefined if the name, or the target of its symlink, does not exist. */
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

/** `fd` was opened with O_PATH: it identifies the file but cannot read it. */
export type Entry = { readonly fd: number; readonly path: string; readonly stats: BigIntStats }

export type WalkOptions = {
  readonly deny: DenyList
  readonly home: string
  /** Creates a missing directory on the way. By default the walk fails with not_found. */
  readonly makeDirectory?: (parent: Entry, name: string) => void
  /** Does not follow a symlink at the end, as for a removal. */
  readonly keepLastLink?: boolean
}

/** The path of a name in an open directory, for calls that take no descriptor. */
export function childPath(directory: Entry, name: string): string {
  return `${fdPath(directory)}/${name}`
}

/** `childPath` for a name in bytes, which need not be UTF-8. */
export function childPathBytes(directory: Entry, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${fdPath(directory)}/`), name])
}

/** A path to the open file, whatever has happened to its name. */
export function fdPath(entry: Entry): string {
  return `/proc/self/fd/${entry.fd}`
}

export function walk(path: string, options: WalkOptions): OpenPath {
  const { deny, home } = options
  if (path.includes('\0')) throw invalidRequest('a path may not contain a NUL character')
  deny.checkPath(posix.resolve(home, path))
  const denied = deny.snapshot()
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
      if (++steps > maxSteps) throw invalidRequest(`${path} leads through too many directories`)
      if (name === '..') {
        if (directories.length > 1) drop(directories.pop()!)
        continue
      }
      const directory = directories.at(-1)!
      const shownPath = posix.join(directory.path, name)
      deny.checkPath(shownPath)
      let entry = openIfPresent(() =>
        open(childPath(directory, name), shownPath, constants.O_NOFOLLOW),
      )
      if (!entry && rest.length > 0) {
        if (!options.makeDirectory) throw notFound(shownPath)
        options.makeDirectory(directory, name)
        entry = open(childPath(directory, name), shownPath, constants.O_NOFOLLOW)
      }
      const isLast = rest.length === 0 && !isDirectoryNamed
      if (entry?.stats.isSymbolicLink() && !(isLast && options.keepLastLink)) {
        if (++hops > maxHops) throw invalidRequest(`${path} leads through too many symlinks`)
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
      return new OpenPath(held, directories.at(-2) ?? last, name, last)
    }
    deny.checkPath(final.entry ? realPath(final.entry) : posix.join(realPath(last), final.name))
    // Again, because it may have become a denied file during the walk.
    if (final.entry) deny.snapshot().check(final.entry.path, final.entry.stats)
    return new OpenPath(held, last, final.name, final.entry)
  } catch (error) {
    for (const { fd } of held) closeSync(fd)
    throw error
  }
}

/** `a/` and `a/.` name the directory, not a link to it. */
export function namesDirectory(path: string): boolean {
  return /\/\.?$/.test(path)
}

/** Whether it is in /proc or /sys, where the kernel defines what reading and writing do. */
export function isKernelFile(entry: Entry): boolean {
  return /^\/(proc|sys)(\/|$)/.test(realPath(entry))
}

export function notFound(path: string): AgentError {
  return new AgentError('not_found', `${path} does not exist`)
}

export function notDirectory(path: string): AgentError {
  return invalidRequest(`${path} is not a directory`)
}

/** From the kernel's headers: Node has no constant for it. */
export const O_PATH = 0o10000000
const maxHops = 40
/** Bounds the descriptors held, one per step. */
const maxSteps = 4096

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** The kernel's path of the open file, whatever name it was reached by. */
export function realPath(entry: Entry): string {
  return readlinkSync(fdPath(entry))
}

function readTarget(directory: Entry, name: string): string {
  const target = readlinkSync(childPath(directory, name), 'buffer')
  const text = target.toString('utf8')
  if (Buffer.from(text, 'utf8').equals(target)) return text
  throw invalidRequest(`${posix.join(directory.path, name)} links to a name that is not UTF-8`)
}

const procMagic = 0x9fa0

/** Denied paths cover only the usual mount of /proc, so any other is refused. */
export function checkFileSystem(entry: Entry): void {
  if (entry.path === '/proc' || statfsSync(fdPath(entry)).type !== procMagic) return
  throw new AgentError('permission_denied', `the file routes may not touch ${entry.path}`)
}

export function openIfPresent<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
