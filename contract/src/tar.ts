/*
 * Archives of folders, which the file routes read and write in one call: tar as POSIX.1-2001 defines it.
 * An archive holds directories, files and symlinks. Names are UTF-8 and relative to the folder. A global
 * extended header with the keyword COMPUTER.omitted names an entry of the folder that the archive lacks;
 * other programs ignore it.
 */

export type TarEntry =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | {
      readonly type: 'file'
      readonly path: string
      readonly mode: number
      readonly size: number
    }
  | { readonly type: 'symlink'; readonly path: string; readonly target: string }
  | { readonly type: 'omitted'; readonly path: string }

export const tarBlockBytes = 512
/** Longest path of an entry, and longest target of a symlink. */
export const maxTarPathBytes = 4096
export const omittedKeyword = 'COMPUTER.omitted'

/** The bytes before the content of an entry. `modifiedAtMs` is for other programs that read them. */
export function encodeTarHeader(entry: TarEntry, modifiedAtMs = 0): Buffer {
  if (entry.type === 'omitted') {
    return encodeRecords('g', [[omittedKeyword, entry.path]])
  }
  const path = entry.type === 'directory' ? `${entry.path}/` : entry.path
  const target = entry.type === 'symlink' ? entry.target : ''
  const size = entry.type === 'file' ? entry.size : 0
  const records: [string, string][] = []
  if (Buffer.byteLength(path) > nameBytes) records.push(['path', path])
  if (Buffer.byteLength(target) > nameBytes) records.push(['linkpath', target])
  if (size > maxOctalSize) records.push(['size', String(size)])
  const header = encodeBlock({
    type: typeFlags[entry.type],
    path,
    target,
    size: Math.min(size, maxOctalSize),
    mode: entry.type === 'symlink' ? 0o777 : entry.mode,
    modifiedAt: Math.max(0, Math.min(Math.trunc(modifiedAtMs / 1000), maxOctalSize)),
  })
  return records.length === 0 ? header : Buffer.concat([encodeRecords('x', records), header])
}

/** The bytes after the content of a file. */
export function tarPadding(size: number): Buffer {
  return zeros.subarray(0, (tarBlockBytes - (size % tarBlockBytes)) % tarBlockBytes)
}

const zeros = Buffer.alloc(2 * tarBlockBytes)
/** The end of an archive: without it, a reader knows that the archive was cut off. */
export const tarEnd: Buffer = zeros

/** An archive of these headers, contents and paddings, in pieces: each costs the same, however short. */
export async function* gatherTar(
  parts: Iterable<Buffer> | AsyncIterable<Buffer>,
  pieceBytes: number,
): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = []
  let size = 0
  for await (const part of parts) {
    gathered.push(part)
    size += part.length
    if (size < pieceBytes) continue
    yield gathered.length === 1 ? part : Buffer.concat(gathered, size)
    gathered = []
    size = 0
  }
  yield Buffer.concat([...gathered, tarEnd])
}

const typeFlags = { file: '0', symlink: '2', directory: '5' } as const
const nameBytes = 100
/** Eleven octal digits. */
const maxOctalSize = 8 ** 11 - 1

type Block = {
  readonly type: string
  readonly path: string
  readonly target?: string
  readonly size: number
  readonly mode: number
  readonly modifiedAt?: number
}

/** Names that are too long are cut here, and whole in the records before. */
function encodeBlock({ type, path, target = '', size, mode, modifiedAt = 0 }: Block): Buffer {
  const block = Buffer.alloc(tarBlockBytes)
  const octal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  block.write(path, 0, nameBytes)
  octal(mode, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(modifiedAt, 136, 11)
  block.write(type, 156, 'latin1')
  block.write(target, 157, nameBytes)
  block.write('ustar\u000000', 257, 'latin1')
  octal(checksumOf(block), 148, 6)
  block[155] = 0x20
  return block
}

/** The sum of the bytes of a header, its own field taken as spaces. */
export function checksumOf(block: Buffer): number {
  let sum = 0
  for (const byte of block.subarray(0, tarBlockBytes)) sum += byte
  for (const byte of block.subarray(148, 156)) sum += 0x20 - byte
  return sum
}

/** An extended header: lines of the form `LENGTH KEYWORD=VALUE`, where LENGTH counts the whole line. */
function encodeRecords(type: 'x' | 'g', records: readonly (readonly [string, string])[]): Buffer {
  const content = Buffer.concat(records.map(([keyword, value]) => encodeRecord(keyword, value)))
  const path = type === 'x' ? 'PaxHeader' : 'GlobalHeader'
  const header = encodeBlock({ type, path, size: content.length, mode: 0o644 })
  return Buffer.concat([header, content, tarPadding(content.length)])
}

function encodeRecord(keyword: string, value: string): Buffer {
  const rest = Buffer.from(` ${keyword}=${value}\n`)
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length += 1
  return Buffer.concat([Buffer.from(String(length)), rest])
}
