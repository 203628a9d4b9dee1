import { existsSync, statSync, type BigIntStats } from 'node:fs'
import { Refusal } from '../refusal.ts'

/**
 * The paths the file routes never touch: credentials and sockets of the agent and the channel into
 * the machine, the agent itself, and what leads into its memory. Asked for the path as it was
 * written, for every hop on the way, and for what was really opened.
 */
export class DenyList {
  readonly #paths: readonly string[]

  constructor(paths: readonly string[]) {
    this.#paths = [...paths, ...kernelPaths]
  }

  checkPath(path: string): void {
    if (this.#paths.some((denied) => path === denied || path.startsWith(`${denied}/`))) refuse(path)
    const process = /^\/proc\/(\d+)(\/|$)/.exec(path)
    // The kernel answers for a thread's number as for a process, though it lists none.
    if (process && existsSync(`/proc/self/task/${process[1]}`)) refuse(path)
  }

  /** The same by identity, so that a bind mount of a denied directory is denied too. */
  checkDirectory(path: string, stats: BigIntStats): void {
    for (const denied of this.#paths) {
      const of = statSync(denied, { bigint: true, throwIfNoEntry: false })
      if (of?.isDirectory() && of.ino === stats.ino && of.dev === stats.dev) refuse(path)
    }
  }
}

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

function refuse(path: string): never {
  throw new Refusal('permission_denied', `${path} is not open to the file routes`)
}
