import { lstatSync, readdirSync, statSync, type BigIntStats } from 'node:fs'
import { join, posix } from 'node:path'
import { AgentError } from '../errors.ts'

/**
 * The files that the file routes never touch: credentials and sockets of the agent, the channel
 * into the machine, the agent itself, and the files of processes in /proc, which hold secrets. It
 * is checked for the path as requested, for every hop on the way, and for the file that was opened.
 */
export class DenyList {
  readonly #trees: readonly string[]

  constructor(paths: readonly string[]) {
    this.#trees = paths
  }

  checkPath(path: string): void {
    if (this.#trees.some((tree) => isWithin(path, tree))) throw deniedError(path)
    if (kernelPaths.some((kernelPath) => isWithin(path, kernelPath))) throw deniedError(path)
    // Thread ids work like process ids here, although the kernel does not list them.
    if (/^\/proc\/\d+(\/|$)/.test(path)) throw deniedError(path)
  }

  /** The denied files by identity, as they are now. */
  snapshot(): DeniedFiles {
    return new DeniedFiles(this.#trees)
  }
}

/** Recognizes denied files by device and inode: under the name of a hard link or bind mount too. */
class DeniedFiles {
  readonly #roots: readonly Root[]
  #within: Set<string> | undefined
  #above: Set<string> | undefined

  constructor(trees: readonly string[]) {
    this.#roots = trees.flatMap((path) => {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
      return stats ? [{ path, stats }] : []
    })
  }

  check(path: string, stats: BigIntStats): void {
    if (!this.#roots.some((root) => root.stats.dev === stats.dev)) return
    this.#within ??= new Set(this.#roots.flatMap(identitiesWithin))
    if (this.#within.has(identityOf(stats))) throw deniedError(path)
  }

  /** Refuses ancestors of a denied file, which would be removed or moved with them. */
  checkAbove(path: string, stats: BigIntStats): void {
    this.#above ??= new Set(this.#roots.flatMap(identitiesAbove))
    if (!this.#above.has(identityOf(stats))) return
    throw new AgentError(
      'permission_denied',
      `${path} contains files that the file routes may not touch`,
    )
  }
}

type Root = { readonly path: string; readonly stats: BigIntStats }

const kernelPaths = [
  '/proc/self',
  '/proc/thread-self',
  '/proc/kcore',
  '/dev/fd',
  '/dev/stdin',
  '/dev/stdout',
  '/dev/stderr',
  '/dev/mem',
  '/dev/kmem',
  '/dev/port',
]

export function identityOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}`
}

function identitiesWithin({ path, stats }: Root): string[] {
  const own = identityOf(stats)
  return stats.isDirectory() ? [own, ...identitiesBelow(path)] : [own]
}

function identitiesBelow(directory: string): string[] {
  return readNames(directory).flatMap((name) => {
    const path = join(directory, name)
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stats ? identitiesWithin({ path, stats }) : []
  })
}

function identitiesAbove({ path }: Root): string[] {
  const identities: string[] = []
  for (let above = posix.dirname(path); ; above = posix.dirname(above)) {
    identities.push(identityOf(statSync(above, { bigint: true })))
    if (above === '/') return identities
  }
}

/** Empty for a directory that was removed in the meantime. */
function readNames(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function isWithin(path: string, tree: string): boolean {
  return path === tree || path.startsWith(`${tree}/`)
}

function deniedError(path: string): AgentError {
  return new AgentError('permission_denied', `the file routes may not touch ${path}`)
}
