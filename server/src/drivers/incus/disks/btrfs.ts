import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DriverError } from '../../machine-driver.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('btrfs.pl', import.meta.url))

/** A subvolume. Transaction counts are the clock of the file system. */
export type Subvolume = {
  readonly id: number
  /** The last part of its path. Undefined while it is being removed. */
  readonly name: string | undefined
  readonly uuid: string
  /** The subvolume that it is a snapshot of, which may be gone. */
  readonly parentUuid: string
  readonly madeIn: number
  readonly changedIn: number
  /** Size of its file tree as of the last commit. */
  readonly treeBytes: number
}

export async function readSubvolumes(folder: string): Promise<readonly Subvolume[]> {
  const roots: Omit<Subvolume, 'name'>[] = []
  const names = new Map<number, string>()
  await searchTree(folder, { tree: rootTree, since: 0 }, (item) => {
    if (item.type === keyTypes.rootBackref) names.set(item.objectId, readName(item))
    if (item.type === keyTypes.rootItem && isSubvolume(item)) roots.push(readRoot(item))
  })
  return roots.map((root) => ({ ...root, name: names.get(root.id) }))
}

/** The data of a subvolume that was written in a span of transactions. */
export type Written = {
  /** Whole extents, each counted once, as quotas do. */
  readonly dataBytes: number
  /** Items in the file tree itself: names, inodes, small files. */
  readonly itemBytes: number
}

/**
 * With `asMade`, data that was written after the subvolume was made is left out. Extents in `counted`
 * are skipped, and the extents found are added to it.
 */
export async function measureWritten(
  folder: string,
  { since, asMade = false }: { readonly since: number; readonly asMade?: boolean },
  counted = new ExtentSet(),
): Promise<Written> {
  let [dataBytes, itemBytes] = [0, 0]
  await searchTree(folder, { tree: ownTree, since }, ({ type, body }, madeIn) => {
    if (type === keyTypes.extentData) {
      const writtenIn = readNumber(body, 0)
      if (asMade && writtenIn > madeIn) return
      const isInline = body[20] === 0
      const address = isInline ? 0 : readNumber(body, 21)
      // A hole has no address.
      if (writtenIn >= since && address > 0 && counted.add(address)) {
        dataBytes += readNumber(body, 29)
      }
    }
    itemBytes += itemHeadBytes + body.length
  })
  return { dataBytes, itemBytes }
}

/** A set of extent addresses, as a bitmap of the sectors of each region that has any. */
export class ExtentSet {
  readonly #regions = new Map<number, Uint8Array>()

  /** Returns whether the address is new. */
  add(address: number): boolean {
    const key = Math.floor(address / regionBytes)
    const sector = (address % regionBytes) / sectorBytes
    let bits = this.#regions.get(key)
    if (!bits) this.#regions.set(key, (bits = new Uint8Array(regionBytes / sectorBytes / 8)))
    const mask = 1 << (sector & 7)
    const isNew = (bits[sector >> 3]! & mask) === 0
    bits[sector >> 3]! |= mask
    return isNew
  }
}

const sectorBytes = 4096
const regionBytes = 2 ** 30

/** Ends the running transaction, so that quotas count every earlier write and removal. */
export async function commit(folder: string): Promise<void> {
  await run('perl', [script, 'commit', folder])
}

/** Gives a subvolume the received UUID that the other end of a transfer finds it by. */
export async function identify(folder: string, uuid: string): Promise<void> {
  await run('perl', [script, 'identify', folder, uuid])
}

/** Read-only subvolumes can be sent. */
export async function setProtected(folder: string, isProtected: boolean): Promise<void> {
  await run('perl', [script, isProtected ? 'protect' : 'unprotect', folder])
}

const ownTree = 0
const rootTree = 1
const keyTypes = { extentData: 108, rootItem: 132, rootBackref: 144 }
/** Overhead of each item in a tree. */
const itemHeadBytes = 25
/** The header of each item: transaction, object id, offset (8 bytes each), type, length (4 each). */
const searchHeadBytes = 32

type Item = { readonly objectId: number; readonly type: number; readonly body: Buffer }
/** `madeIn` is the transaction that made the folder's subvolume. */
type Visit = (item: Item, madeIn: number) => void

async function searchTree(
  folder: string,
  { tree, since }: { readonly tree: number; readonly since: number },
  visit: Visit,
): Promise<void> {
  const child = spawn('perl', [script, 'search', folder, String(tree), String(since)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text))
  let rest: Buffer = Buffer.alloc(0)
  let madeIn: number | undefined
  child.stdout.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    if (madeIn === undefined && rest.length >= 8) {
      madeIn = readNumber(rest, 0)
      rest = rest.subarray(8)
    }
    if (madeIn !== undefined) rest = rest.subarray(visitItems(rest, madeIn, visit))
  })
  const [code] = await closed
  // A disk may be removed or replaced during the search.
  if (code !== 0)
    throw new DriverError(`could not search the btrfs tree: ${errorOutput.trim()}`, {
      retryable: true,
    })
}

/** Visits the complete items at the front. Returns the offset of the first incomplete one. */
function visitItems(bytes: Buffer, madeIn: number, visit: Visit): number {
  let at = 0
  while (at + searchHeadBytes <= bytes.length) {
    const end = at + searchHeadBytes + bytes.readUInt32LE(at + 28)
    if (end > bytes.length) break
    const item = {
      objectId: readNumber(bytes, at + 8),
      type: bytes.readUInt32LE(at + 24),
      body: bytes.subarray(at + searchHeadBytes, end),
    }
    visit(item, madeIn)
    at = end
  }
  return at
}

function readRoot({ objectId, body }: Item): Omit<Subvolume, 'name'> {
  return {
    id: objectId,
    treeBytes: readNumber(body, 192),
    uuid: body.toString('hex', 247, 263),
    parentUuid: body.toString('hex', 263, 279),
    changedIn: readNumber(body, 295),
    madeIn: readNumber(body, 303),
  }
}

function readName({ body }: Item): string {
  return body.toString('utf8', 18, 18 + body.readUInt16LE(16))
}

/** The file system's internal trees have ids outside this range. */
function isSubvolume({ objectId }: Item): boolean {
  return objectId >= 256 && objectId < 2 ** 48
}

function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at)
}
