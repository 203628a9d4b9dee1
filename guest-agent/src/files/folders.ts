import { AgentError, invalidRequest } from '../errors.ts'
import { openChild, type OpenChild } from './child.ts'
import type { FileSpace } from './space.ts'
import { isKernelFile, notDirectory, type Entry } from './walk.ts'
import { makeOwned } from './write.ts'

/**
 * The directories on the way to what is written below a directory. They stay open from one entry to the
 * next, so that whatever happens to their names meanwhile, nothing is written elsewhere.
 */
export class Folders implements Disposable {
  readonly #space: FileSpace
  readonly #root: Entry
  readonly #open: { readonly name: string; readonly entry: OpenChild }[] = []

  constructor(space: FileSpace, root: Entry) {
    this.#space = space
    this.#root = root
    refuseKernel(root)
  }

  /** Opens a directory by its names, and creates what is missing; the last one gets the mode. */
  enter(names: readonly string[], mode?: number): Entry {
    const known = this.#open.findIndex(({ name }, index) => name !== names[index])
    for (const { entry } of this.#open.splice(known === -1 ? names.length : known)) {
      entry[Symbol.dispose]()
    }
    for (const [index, name] of names.entries()) {
      if (index < this.#open.length) continue
      const parent = this.#open.at(-1)?.entry ?? this.#root
      const entry = this.#openOrMake(parent, name, index === names.length - 1 ? mode : undefined)
      this.#open.push({ name, entry })
      refuseKernel(entry)
    }
    return this.#open.at(-1)?.entry ?? this.#root
  }

  [Symbol.dispose](): void {
    for (const { entry } of this.#open) entry[Symbol.dispose]()
  }

  #openOrMake(parent: Entry, name: string, mode: number | undefined): OpenChild {
    const found = openChild(this.#space, parent, name)
    if (found?.stats.isDirectory()) return found
    found?.[Symbol.dispose]()
    // Replacing it could break the machine: /bin is such a link.
    if (found?.stats.isSymbolicLink()) throw isSymlink(found.path)
    if (found) throw notDirectory(found.path)
    makeOwned(this.#space, parent, name, mode)
    const made = openChild(this.#space, parent, name)
    if (made?.stats.isDirectory()) return made
    made?.[Symbol.dispose]()
    throw new AgentError('conflict', `${parent.path}/${name} was replaced concurrently; try again`)
  }
}

function isSymlink(path: string): AgentError {
  return new AgentError(
    'conflict',
    `${path} is a symlink where the archive has a directory; remove it, or write to its target`,
  )
}

function refuseKernel(directory: Entry): void {
  if (!isKernelFile(directory)) return
  throw invalidRequest(`${directory.path} belongs to the kernel; write there with a command`)
}
