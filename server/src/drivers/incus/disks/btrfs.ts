import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DriverError } from '../../machine-driver.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('btrfs.pl', import.meta.url))

/** What btrfs says of one subvolume. Its counts of transactions are the clock of the file system. */
export type Subvolume = {
  readonly id: number
  /** The last part of its path. One that is being removed has none any more. */
  readonly name: string | undefined
  readonly uuid: string
  /** Of what it is a snapshot, which may be gone. */
  readonly parentUuid: string
  readonly madeIn: number
  readonly changedIn: number
  /** What its tree of files takes, as of the last commit. */
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

/** What a subvolume holds of a span of transactions. */
export type Written = {
  /** Of whole extents, each once, as quotas count them. */
  readonly dataBytes: number
  /** Of what lies in the tree of files itself: names, inodes, small files. */
  readonly itemBytes: number
}

/**
 * Of a copy that nobody uses, `asMade` leaves out what was written to it later. `counted` are extents
 * that count no more; those that are found are added.
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

/** Addresses of extents: a bit for each sector of those parts of the pool that are in use. */
export class ExtentSet {
  readonly #regions = new Map<number, Uint8Array>()

  /** Whether it was not there before. */
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

/** Ends the running transaction, so that what was freed and written before counts in the quotas. */
export async function commit(folder: string): Promise<void> {
  await run('perl', [script, 'commit', folder])
}

const ownTree = 0
const rootTree = 1
const keyTypes = { extentData: 108, rootItem: 132, rootBackref: 144 }
/** What the tree of files itself keeps of every item. */
const itemHeadBytes = 25
/** Before each item: transaction, object id, offset (8 bytes each), type, length (4 each). */
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
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
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
  // A disk may be removed, or made anew, while it is looked at.
  if (code !== 0)
    throw new DriverError(`btrfs cannot be searched: ${complaint.trim()}`, { retryable: true })
}

/** Visits the whole items at the front, and answers where the first that is not whole begins. */
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

/** Trees of the file system's own have other ids. */
function isSubvolume({ objectId }: Item): boolean {
  return objectId >= 256 && objectId < 2 ** 48
}

function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at)
}
