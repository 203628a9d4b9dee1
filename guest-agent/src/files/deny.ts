import { lstatSync, readdirSync, statSync, type BigIntStats } from 'node:fs'
import { join, posix } from 'node:path'
import { Refusal } from '../refusal.ts'

/**
 * What the file routes never touch: credentials and sockets of the agent, the channel into the
 * machine, the agent itself, and the insides of processes, which hold secrets. Asked for the path as
 * it was written, for every hop on the way, and for what was really opened.
 */
export class DenyList {
  readonly #trees: readonly string[]

  constructor(paths: readonly string[]) {
    this.#trees = paths
  }

  checkPath(path: string): void {
    if (this.#trees.some((tree) => isWithin(path, tree))) throw refusal(path)
    if (kernelPaths.some((denied) => isWithin(path, denied))) throw refusal(path)
    // The kernel answers for a thread's number as for a process, though it lists none.
    if (/^\/proc\/\d+(\/|$)/.test(path)) throw refusal(path)
  }

  /** The denied trees by identity, as they are now. */
  look(): DeniedFiles {
    return new DeniedFiles(this.#trees)
  }
}

/** A hard link or a bind mount is the denied file under another name, and so is as closed. */
export class DeniedFiles {
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
    if (this.#within.has(identityOf(stats))) throw refusal(path)
  }

  /** Refuses directories that lead to a denied one, which would go or move with them. */
  checkAbove(path: string, stats: BigIntStats): void {
    this.#above ??= new Set(this.#roots.flatMap(identitiesAbove))
    if (!this.#above.has(identityOf(stats))) return
    throw new Refusal('permission_denied', `${path} leads to what is not open to the file routes`)
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

/** What is gone between two looks holds nothing. */
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

function refusal(path: string): Refusal {
  return new Refusal('permission_denied', `${path} is not open to the file routes`)
}
