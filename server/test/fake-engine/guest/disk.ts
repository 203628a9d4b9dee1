import type { DirectoryEntry } from '@computer/contract'
import { posix } from 'node:path'
import { GuestFault } from './fault.ts'

/** Never changed: a write puts another in its place. So copies of a disk share their files. */
export type DiskFile = {
  readonly type: 'file'
  readonly bytes: Buffer
  readonly mode: string
  readonly owner: string
  readonly modifiedAt: Date
}
export type DiskDirectory = {
  readonly type: 'directory'
  readonly entries: Map<string, DiskNode>
  readonly mode: string
  readonly owner: string
  readonly modifiedAt: Date
}
type DiskNode = DiskFile | DiskDirectory

export const home = '/home/agent'
/** The real agent's denylist, as far as this disk has anything there. */
const denied = ['/opt/computer', '/run/computer']

/** The file system of a fake machine. It lasts as long as the machine. */
export class FakeDisk {
  readonly #now: () => Date
  readonly #root: DiskDirectory
  /** The files it began with. */
  readonly #base: ReadonlySet<DiskNode>

  constructor(now: () => Date, copied?: DiskDirectory) {
    this.#now = now
    this.#root = copied ?? this.#newDirectory('root')
    if (!copied) this.#fill()
    this.#base = new Set(filesOf(this.#root))
  }

  /** A disk of its own with the same content. */
  copy(): FakeDisk {
    return new FakeDisk(this.#now, copyDirectory(this.#root))
  }

  /** Bytes of files that were written since the disk was made, and are still on it. */
  writtenBytes(): number {
    const written = filesOf(this.#root).filter((file) => !this.#base.has(file))
    return written.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  #fill(): void {
    for (const path of ['/bin', '/etc', '/tmp', '/root', '/usr/bin', '/var/tmp']) {
      this.makeDirectory(path, 'root')
    }
    for (const name of ['Desktop', 'Documents', 'Downloads']) {
      this.makeDirectory(`${home}/${name}`, 'agent')
    }
    this.write('/etc/os-release', Buffer.from('PRETTY_NAME="Fake Linux"\n'), { owner: 'root' })
  }

  /** Absolute and without dots. Relative paths start at the agent user's home. */
  resolve(path: string, cwd: string = home): string {
    const absolute = posix.resolve(cwd, path)
    if (denied.some((root) => absolute === root || absolute.startsWith(`${root}/`))) {
      throw new GuestFault('permission_denied', `${absolute} is not accessible`)
    }
    return absolute
  }

  find(path: string): DiskNode | undefined {
    let node: DiskNode | undefined = this.#root
    for (const name of partsOf(path)) {
      node = node?.type === 'directory' ? node.entries.get(name) : undefined
    }
    return node
  }

  read(path: string): DiskFile & { readonly path: string } {
    const absolute = this.resolve(path)
    const node = this.find(absolute)
    if (!node) throw new GuestFault('not_found', `there is no file ${absolute}`)
    if (node.type === 'file') return { ...node, path: absolute }
    throw new GuestFault('invalid_request', `${absolute} is a directory`)
  }

  write(
    path: string,
    bytes: Buffer,
    options: {
      readonly append?: boolean
      readonly createParents?: boolean
      readonly mode?: string | undefined
      readonly owner?: string
    } = {},
  ): { path: string; size: number } {
    const absolute = this.resolve(path)
    const { append = false, createParents = true, mode, owner = 'agent' } = options
    const parentPath = posix.dirname(absolute)
    if (createParents) this.makeDirectory(parentPath, owner)
    const parent = this.find(parentPath)
    if (!parent) throw new GuestFault('not_found', `there is no directory ${parentPath}`)
    if (parent.type === 'file') {
      throw new GuestFault('invalid_request', `${parentPath} is not a directory`)
    }
    const old = this.find(absolute)
    if (old?.type === 'directory') {
      throw new GuestFault('invalid_request', `${absolute} is a directory`)
    }
    const whole = append && old ? Buffer.concat([old.bytes, bytes]) : Buffer.from(bytes)
    parent.entries.set(posix.basename(absolute), {
      type: 'file',
      bytes: whole,
      mode: mode?.padStart(4, '0') ?? old?.mode ?? '0644',
      owner: old?.owner ?? owner,
      modifiedAt: this.#now(),
    })
    return { path: absolute, size: whole.length }
  }

  /** With its parents. */
  makeDirectory(path: string, owner: string): void {
    let directory = this.#root
    for (const name of partsOf(path)) {
      let next = directory.entries.get(name)
      if (!next) {
        next = this.#newDirectory(owner)
        directory.entries.set(name, next)
      }
      if (next.type === 'file') {
        throw new GuestFault('invalid_request', `${name} in ${path} is not a directory`)
      }
      directory = next
    }
  }

  remove(path: string): boolean {
    const parent = this.find(posix.dirname(path))
    return parent?.type === 'directory' && parent.entries.delete(posix.basename(path))
  }

  /** As the agent does for a caller: not /, the home or what leads to it, nor what is not empty. */
  take(path: string, { recursive }: { readonly recursive: boolean }): void {
    const absolute = this.#resolveTakeable(path)
    const node = this.find(absolute)
    if (node?.type === 'directory' && node.entries.size > 0 && !recursive) {
      throw new GuestFault('conflict', `${absolute} is not empty; recursive removes what is in it`)
    }
    this.remove(absolute)
  }

  move(from: string, to: string, { overwrite }: { readonly overwrite: boolean }): { path: string } {
    const [source, target] = [this.#resolveTakeable(from), this.resolve(to)]
    const node = this.find(source)!
    const old = this.find(target)
    const parent = this.find(posix.dirname(target))
    if (!parent) throw new GuestFault('not_found', `there is no ${posix.dirname(target)}`)
    if (parent.type === 'file' || isBelow(target, source)) {
      throw new GuestFault('invalid_request', `${target} is no place to move to`)
    }
    if (old && !overwrite) {
      throw new GuestFault('conflict', `${target} exists already; overwrite replaces it`)
    }
    const isTaken = old?.type === 'directory' && old.entries.size > 0
    if (old && (old.type !== node.type || (isTaken && source !== target))) {
      throw new GuestFault('conflict', `${target} is a directory, or is not one`)
    }
    this.remove(source)
    parent.entries.set(posix.basename(target), node)
    return { path: target }
  }

  #resolveTakeable(path: string): string {
    const absolute = this.resolve(path)
    if (!this.find(absolute)) throw new GuestFault('not_found', `${absolute} does not exist`)
    if (absolute === home || isBelow(home, absolute)) {
      throw new GuestFault('invalid_request', `${absolute} cannot be removed or moved`)
    }
    if (denied.some((root) => isBelow(root, absolute))) {
      throw new GuestFault('permission_denied', `${absolute} leads to what is not accessible`)
    }
    return absolute
  }

  listPage({ path, limit, after }: { path: string; limit: number; after?: string | undefined }): {
    path: string
    data: DirectoryEntry[]
    next: string | null
  } {
    const absolute = this.resolve(path)
    const node = this.find(absolute)
    if (!node) throw new GuestFault('not_found', `there is no directory ${absolute}`)
    if (node.type === 'file') {
      throw new GuestFault('invalid_request', `${absolute} is not a directory`)
    }
    const start = Buffer.from(after ?? '', 'base64url')
    const names = [...node.entries.keys()]
      .map((name) => Buffer.from(name))
      .filter((name) => name.compare(start) > 0)
      .sort(Buffer.compare)
    const page = names.slice(0, limit).map(String)
    const data = page.map((name) => describe(absolute, name, node.entries.get(name)!))
    const next = names.length > limit ? names[limit - 1]!.toString('base64url') : null
    return { path: absolute, data, next }
  }

  usedBytes(): number {
    return sizeOf(this.#root)
  }

  #newDirectory(owner: string): DiskDirectory {
    const modifiedAt = this.#now()
    return { type: 'directory', entries: new Map(), mode: '0755', owner, modifiedAt }
  }
}

function describe(directory: string, name: string, node: DiskNode): DirectoryEntry {
  return {
    name,
    path: posix.join(directory, name),
    type: node.type,
    size: node.type === 'file' ? node.bytes.length : 4096,
    mode: node.mode,
    owner: node.owner,
    modified_at: node.modifiedAt.toISOString(),
    target: null,
  }
}

function sizeOf(node: DiskNode): number {
  if (node.type === 'file') return node.bytes.length
  let size = 4096
  for (const entry of node.entries.values()) size += sizeOf(entry)
  return size
}

function filesOf(directory: DiskDirectory): DiskFile[] {
  return [...directory.entries.values()].flatMap((node) =>
    node.type === 'file' ? [node] : filesOf(node),
  )
}

function copyDirectory(directory: DiskDirectory): DiskDirectory {
  const entries = new Map<string, DiskNode>()
  for (const [name, node] of directory.entries) {
    entries.set(name, node.type === 'file' ? node : copyDirectory(node))
  }
  return { ...directory, entries }
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === '/' ? directory : `${directory}/`)
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}
