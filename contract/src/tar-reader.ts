import { checksumOf, maxTarPathBytes, omittedKeyword, tarBlockBytes, type TarEntry } from './tar.ts'

/** The archive is not one, or holds what archives of folders may not. */
export class TarError extends Error {
  override name = 'TarError'
}

/** `content` is empty unless the entry is a file. It is read before the next entry, or skipped. */
type TarItem = { readonly entry: TarEntry; readonly content: AsyncIterable<Buffer> }

/** Two names with their keywords fit, and much that programs add to them. */
const maxExtendedBytes = 64 * 1024
/** Zeros to the end of a record of 10 KiB, as tar writes them, or of larger ones. */
const maxTrailingBytes = 1024 * 1024

/**
 * Reads an archive that is not trusted, from pax, ustar or GNU tar. Paths are normalized: they are
 * relative, without `.`, `..` and empty components; the folder itself is the empty path. The type bits of
 * modes and the bits beyond permissions are dropped. Throws TarError at everything else, such as devices
 * and hard links, and at the end if the archive was cut off. Memory is bounded by the chunks of the source.
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarItem> {
  const bytes = new Source(source)
  let local: Overrides = {}
  for (;;) {
    const block = await bytes.take(tarBlockBytes)
    if (block.every((byte) => byte === 0)) return bytes.expectEnd()
    const header = parseBlock(block)
    if (header.type in extensions) {
      if (header.size > maxExtendedBytes) throw new TarError('an extended header is too long')
      const content = await bytes.take(header.size)
      await bytes.skip(paddingOf(header.size))
      const { omitted, ...found } = extensions[header.type as keyof typeof extensions](content)
      if (omitted !== undefined) {
        yield { entry: { type: 'omitted', path: decodeName(omitted) }, content: nothing }
      }
      local = { ...local, ...found }
      continue
    }
    const entry = toEntry({ ...header, ...local })
    local = {}
    if (entry.type !== 'file') {
      yield { entry, content: nothing }
      continue
    }
    let left = entry.size
    yield {
      entry,
      content: (async function* () {
        while (left > 0) {
          const piece = await bytes.some(left)
          left -= piece.length
          yield piece
        }
      })(),
    }
    await bytes.skip(left + paddingOf(entry.size))
  }
}

const nothing: AsyncIterable<Buffer> = (async function* () {})()

type Header = {
  readonly type: string
  readonly path: Buffer
  readonly target: Buffer
  readonly mode: number
  readonly size: number
}
/** Fields of the next header that do not fit into it. */
type Overrides = Partial<Pick<Header, 'path' | 'target' | 'size'>>

function parseBlock(block: Buffer): Header {
  const checksum = textOf(block.subarray(148, 156)).toString('latin1')
  if (parseInt(checksum, 8) !== checksumOf(block)) {
    throw new TarError('this is not a tar archive, or a damaged one')
  }
  const name = textOf(block.subarray(0, 100))
  const isPosix = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isPosix ? textOf(block.subarray(345, 500)) : Buffer.alloc(0)
  return {
    type: String.fromCharCode(block[156]! || 0x30),
    path: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    target: textOf(block.subarray(157, 257)),
    mode: parseOctal(block.subarray(100, 108)) & 0o777,
    size: parseSize(block.subarray(124, 136)),
  }
}

function toEntry({ type, mode, size, ...names }: Header): TarEntry {
  const shown = decodeName(names.path)
  const path = normalize(shown)
  const isFile = type === '0' || type === '7'
  // Before ustar, a slash at the end was all that told a directory.
  if (type === '5' || (isFile && shown.endsWith('/'))) return { type: 'directory', path, mode }
  if (path === '') throw new TarError(`${shown}: only a directory may be the folder itself`)
  if (isFile) return { type: 'file', path, mode, size }
  if (type === '2') {
    const target = decodeName(names.target)
    if (target === '') throw new TarError(`${path}: the symlink has no target`)
    return { type: 'symlink', path, target }
  }
  const what = refusedTypes[type] ?? `an entry of the unknown type ${JSON.stringify(type)}`
  throw new TarError(`${path} is ${what}; only files, directories and symlinks are allowed`)
}

const refusedTypes: Readonly<Record<string, string>> = {
  1: 'a hard link',
  3: 'a device',
  4: 'a device',
  6: 'a FIFO',
  S: 'a sparse file of GNU tar',
}

/** Refuses what would lead out of the folder. */
function normalize(shown: string): string {
  const names = shown.split('/')
  if (names[0] === '' && shown !== '') throw new TarError(`${shown} is an absolute path`)
  if (names.includes('..')) throw new TarError(`${shown} leads out of the folder`)
  return names.filter((name) => name !== '' && name !== '.').join('/')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeName(name: Buffer): string {
  if (name.length > maxTarPathBytes) {
    const start = name.toString('utf8', 0, 60)
    throw new TarError(`a name is longer than ${maxTarPathBytes} bytes: ${start}…`)
  }
  if (name.includes(0)) throw new TarError(`a name holds a NUL character: ${name}`)
  try {
    return utf8.decode(name)
  } catch {
    throw new TarError(`a name is not UTF-8: ${name}`)
  }
}

/** Parsers of the headers that describe the next entry, by type. */
const extensions = {
  x: parseRecords,
  // Comments, and defaults for all entries, which no usual program writes.
  g: (content: Buffer) => {
    const { omitted } = parseRecords(content)
    return { omitted }
  },
  L: (content: Buffer) => ({ path: textOf(content), omitted: undefined }),
  K: (content: Buffer) => ({ target: textOf(content), omitted: undefined }),
} as const satisfies Record<
  string,
  (content: Buffer) => Overrides & { readonly omitted: Buffer | undefined }
>

function parseRecords(content: Buffer): Overrides & { readonly omitted: Buffer | undefined } {
  const values = new Map<string, Buffer>()
  for (let rest = content; rest.length > 0;) {
    const space = rest.subarray(0, 8).indexOf(0x20)
    const length = Number(rest.toString('latin1', 0, Math.max(0, space)))
    const equals = rest.indexOf(0x3d)
    const isWhole =
      Number.isInteger(length) &&
      length <= rest.length &&
      equals > space &&
      equals < length &&
      rest[length - 1] === 0x0a
    if (!isWhole) throw new TarError('an extended header is damaged')
    values.set(rest.toString('utf8', space + 1, equals), rest.subarray(equals + 1, length - 1))
    rest = rest.subarray(length)
  }
  if ([...values.keys()].some((keyword) => keyword.startsWith('GNU.sparse.'))) {
    throw new TarError(
      'sparse files of GNU tar are not allowed; write the archive without --sparse',
    )
  }
  const [path, target, size] = [values.get('path'), values.get('linkpath'), values.get('size')]
  return {
    ...(path && { path }),
    ...(target && { target }),
    ...(size && { size: toSize(size.toString('latin1'), 10) }),
    omitted: values.get(omittedKeyword),
  }
}

function textOf(field: Buffer): Buffer {
  const end = field.indexOf(0)
  return end === -1 ? field : field.subarray(0, end)
}

function parseOctal(field: Buffer): number {
  const digits = textOf(field).toString('latin1').trim()
  return digits === '' ? 0 : toSize(digits, 8)
}

/** GNU tar writes long sizes as a number in big endian after the byte 0x80. */
function parseSize(field: Buffer): number {
  if (field[0] !== 0x80) return parseOctal(field)
  const size = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0)
  if (!Number.isSafeInteger(size)) throw new TarError('a size in the archive is too large')
  return size
}

function toSize(digits: string, base: 8 | 10): number {
  const size = (base === 8 ? /^[0-7]+$/ : /^\d+$/).test(digits) ? parseInt(digits, base) : NaN
  if (Number.isSafeInteger(size)) return size
  throw new TarError('a number in the archive is none, or too large')
}

function paddingOf(size: number): number {
  return (tarBlockBytes - (size % tarBlockBytes)) % tarBlockBytes
}

/** Takes bytes from the chunks of a stream. */
class Source {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** Exactly that many bytes. */
  async take(size: number): Promise<Buffer> {
    if (this.#rest.length < size) {
      const pieces: Buffer[] = []
      for (let missing = size; missing > 0;) {
        const piece = await this.some(missing)
        pieces.push(piece)
        missing -= piece.length
      }
      return Buffer.concat(pieces)
    }
    const taken = this.#rest.subarray(0, size)
    this.#rest = this.#rest.subarray(size)
    return taken
  }

  /** The next bytes, at most that many and at least one. */
  async some(maxBytes: number): Promise<Buffer> {
    if (this.#rest.length === 0 && !(await this.#advance())) {
      throw new TarError('the archive was cut off')
    }
    const taken = this.#rest.subarray(0, maxBytes)
    this.#rest = this.#rest.subarray(taken.length)
    return taken
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0;) left -= (await this.some(left)).length
  }

  async expectEnd(): Promise<void> {
    let trailing = this.#rest.length
    while (await this.#advance()) {
      trailing += this.#rest.length
      if (trailing > maxTrailingBytes) throw new TarError('the archive goes on after its end')
    }
  }

  /** False at the end of the stream. */
  async #advance(): Promise<boolean> {
    for (;;) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      this.#rest = next.value
      if (next.value.length > 0) return true
    }
  }
}
