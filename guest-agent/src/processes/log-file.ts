import { open, rm, type FileHandle } from 'node:fs/promises'
import { SerialQueue } from '../serial-queue.ts'

/**
 * The end of a stream, in a ring file of at most `limit` bytes. Bytes that a full disk does not
 * take are lost, and count as never written.
 */
export class LogFile {
  readonly #path: string
  readonly #limit: number
  #file: FileHandle | undefined
  #end = 0
  readonly #pending: Buffer[] = []
  #appending: Promise<void> | undefined
  /** So that no read overlaps a write that overwrites its bytes. */
  readonly #queue = new SerialQueue()

  constructor(path: string, limit: number) {
    this.#path = path
    this.#limit = limit
  }

  /** The bytes written in total. */
  get end(): number {
    return this.#end
  }

  /** Chunks that arrive while the disk is busy are written together. */
  append(chunk: Buffer): Promise<void> {
    this.#pending.push(chunk)
    this.#appending ??= this.#queue.run(async () => {
      this.#appending = undefined
      const bytes = Buffer.concat(this.#pending.splice(0))
      try {
        this.#file ??= await open(this.#path, 'wx', 0o600)
        for (let rest = bytes; rest.length > 0;) {
          const position = this.#end % this.#limit
          const length = Math.min(rest.length, this.#limit - position)
          const { bytesWritten } = await this.#file.write(rest, 0, length, position)
          this.#end += bytesWritten
          rest = rest.subarray(bytesWritten)
        }
      } catch {
        // The disk is full, or the file is not ours any more.
      }
    })
    return this.#appending
  }

  /** Reads from `offset`, or from the oldest byte kept if that is later. */
  read(offset: number, length: number): Promise<{ offset: number; bytes: Buffer }> {
    return this.#queue.run(async () => {
      const start = Math.min(Math.max(offset, this.#end - this.#limit), this.#end)
      const bytes = Buffer.alloc(Math.min(length, this.#end - start))
      if (bytes.length > 0) await this.#fill(bytes, start)
      return { offset: start, bytes }
    })
  }

  /** Call when nothing more will be written. It can still be read. */
  close(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#file?.close()
      this.#file = undefined
    })
  }

  async remove(): Promise<void> {
    await this.close()
    await rm(this.#path, { force: true })
  }

  async #fill(bytes: Buffer, start: number): Promise<void> {
    await using file = await open(this.#path, 'r')
    for (let filled = 0; filled < bytes.length;) {
      const position = (start + filled) % this.#limit
      const wanted = Math.min(bytes.length - filled, this.#limit - position)
      const { bytesRead } = await file.read(bytes, filled, wanted, position)
      if (bytesRead === 0) throw new Error('a log file was truncated')
      filled += bytesRead
    }
  }
}
