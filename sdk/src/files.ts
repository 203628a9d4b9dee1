import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Transport } from './transport.ts'
import type { DirectoryEntry, WrittenArchive } from './wire/records.ts'

/** Contents to write. A stream is sent once; all other kinds are retried on failure. */
export type FileContents = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

export type ReadOptions = CallOptions & {
  /** Larger files fail with `too_large`. Default: 64 MiB. */
  readonly maxBytes?: number | undefined
}
export type WriteOptions = CallOptions & {
  readonly append?: boolean | undefined
  /** Default: true. */
  readonly createParents?: boolean | undefined
  /** Octal permissions, e.g. "0644". */
  readonly mode?: string | undefined
}

const content = '/v1/machines/{machine_id}/files/content'
const archive = '/v1/machines/{machine_id}/files/archive'
const tar = 'application/x-tar'
const octets = 'application/octet-stream'
const rangeBytes = 4 * 1024 * 1024
const defaultMaxBytes = 64 * 1024 * 1024

/** The files of a machine. Paths are absolute, or relative to the agent user's home. */
export class Files {
  readonly #transport: Transport
  readonly #params: { readonly machineId: string }

  constructor(transport: Transport, machineId: string) {
    this.#transport = transport
    this.#params = { machineId }
  }

  /** The entries of a directory, by name. Default: the agent user's home. */
  list(
    path: string = '.',
    { signal, ...query }: PageOptions & CallOptions = {},
  ): List<DirectoryEntry> {
    return this.#transport.list(
      'GET /v1/machines/{machine_id}/files',
      { params: this.#params, query: { ...query, path } },
      { signal },
    )
  }

  /** Reads a whole file as text. Fails with `invalid_request` if it is not UTF-8; use `read` then. */
  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    const bytes = await this.read(path, options)
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch (cause) {
      const message = `${path} is not UTF-8; use read() to get its bytes`
      throw new ApiError('invalid_request', message, { cause })
    }
  }

  /** Reads a whole file, in ranges that are each retried on failure. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { maxBytes = defaultMaxBytes, signal } = options
    const ranges: Uint8Array[] = []
    for (let offset = 0; ;) {
      const { bytes, size } = await this.#readRange(path, offset, maxBytes, signal)
      ranges.push(bytes)
      offset += bytes.length
      // An empty range ends the file, even if its size says otherwise; else this would loop forever.
      if (offset >= size || bytes.length === 0) return concatenate(ranges, offset)
    }
  }

  /** Streams a file of any length, from an offset. */
  async stream(
    path: string,
    { offset = 0, signal }: CallOptions & { readonly offset?: number | undefined } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const headers = offset > 0 ? { range: `bytes=${offset}-` } : {}
    return this.#transport.bytes(
      `GET ${content}`,
      { params: this.#params, query: { path } },
      octets,
      ({ body }) => body ?? new ReadableStream({ start: (controller) => controller.close() }),
      { signal, headers, tryTimeoutMs: Infinity },
    )
  }

  /** Writes a file of any length. Files are replaced atomically, except with `append`. */
  async write(path: string, contents: FileContents, options: WriteOptions = {}) {
    const { append, createParents, mode, signal } = options
    const query = { path, append: flag(append), createParents: flag(createParents), mode }
    const isStream = contents instanceof ReadableStream
    return this.#transport.call(
      `PUT ${content}`,
      { params: this.#params, query },
      { signal, content: contents, isRepeatable: !append && !isStream, tryTimeoutMs: Infinity },
    )
  }

  /** Streams a directory and all below it as a tar archive. */
  async readArchive(
    path: string = '.',
    { signal }: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.#transport.bytes(
      `GET ${archive}`,
      { params: this.#params, query: { path } },
      tar,
      ({ body }) => body ?? new ReadableStream({ start: (controller) => controller.close() }),
      { signal, tryTimeoutMs: Infinity },
    )
  }

  /**
   * Writes the files, directories and symlinks of a tar archive below a directory, which is created if it
   * does not exist. Each file is replaced atomically; after an error, those before it are written.
   */
  async writeArchive(
    path: string,
    contents: FileContents,
    { signal }: CallOptions = {},
  ): Promise<WrittenArchive> {
    const isRepeatable = !(contents instanceof ReadableStream)
    const headers = { 'content-type': tar }
    return this.#transport.call(
      `PUT ${archive}`,
      { params: this.#params, query: { path } },
      { signal, headers, content: contents, isRepeatable, tryTimeoutMs: Infinity },
    )
  }

  async delete(
    path: string,
    { recursive, signal }: CallOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    await this.#transport.call(
      'DELETE /v1/machines/{machine_id}/files',
      { params: this.#params, query: { path, recursive: flag(recursive) } },
      { signal },
    )
  }

  /** Moves a file or directory. `to` is the new path itself, not a directory to move into. */
  async move(
    from: string,
    to: string,
    { overwrite, signal }: CallOptions & { readonly overwrite?: boolean | undefined } = {},
  ): Promise<void> {
    const body = { from, to, overwrite }
    const route = 'POST /v1/machines/{machine_id}/files/move'
    await this.#transport.call(route, { params: this.#params, body }, { signal })
  }

  async #readRange(path: string, offset: number, maxBytes: number, signal?: AbortSignal) {
    const read = async (response: Response) => {
      const size = Number(response.headers.get('content-range')?.split('/')[1] ?? 0)
      if (size > maxBytes) {
        await response.body?.cancel()
        const message = `${path} has ${size} bytes, more than ${maxBytes}; raise maxBytes, or use stream()`
        throw new ApiError('too_large', message)
      }
      return { bytes: new Uint8Array(await response.arrayBuffer()), size }
    }
    try {
      const input = { params: this.#params, query: { path } }
      const headers = { range: `bytes=${offset}-${offset + rangeBytes - 1}` }
      return await this.#transport.bytes(`GET ${content}`, input, octets, read, { signal, headers })
    } catch (error) {
      // The offset is past the end: the file is empty, or was truncated meanwhile.
      const isEnd = error instanceof ApiError && error.status === 416
      if (isEnd) return { bytes: new Uint8Array(), size: offset }
      throw error
    }
  }
}

function flag(value: boolean | undefined): 'true' | 'false' | undefined {
  return value === undefined ? undefined : value ? 'true' : 'false'
}

function concatenate(ranges: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length)
  let offset = 0
  for (const range of ranges) {
    whole.set(range, offset)
    offset += range.length
  }
  return whole
}
