import { open, rm, type FileHandle } from 'node:fs/promises'

/**
 * The end of a stream, in a file that never grows beyond `limit`: past it the oldest bytes are written
 * over. What the disk has no room for is lost, and counts as never written.
 */
export class LogFile {
  readonly #path: string
  readonly #limit: number
  #file: FileHandle | undefined
  #end = 0
  readonly #waiting: Buffer[] = []
  #appending: Promise<void> | undefined
  /** One read or write at a time, so that no read finds bytes that are being written over. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(path: string, limit: number) {
    this.#path = path
    this.#limit = limit
  }

  /** How much was written in all. */
  get end(): number {
    return this.#end
  }

  /** What comes while the disk is busy is written in one go. */
  append(chunk: Buffer): Promise<void> {
    this.#waiting.push(chunk)
    this.#appending ??= this.#inTurn(async () => {
      this.#appending = undefined
      const bytes = Buffer.concat(this.#waiting.splice(0))
      try {
        this.#file ??= await open(this.#path, 'wx', 0o600)
        for (let rest = bytes; rest.length > 0;) {
          const place = this.#end % this.#limit
          const length = Math.min(rest.length, this.#limit - place)
          const { bytesWritten } = await this.#file.write(rest, 0, length, place)
          this.#end += bytesWritten
          rest = rest.subarray(bytesWritten)
        }
      } catch {
        // The disk is full, or what is on it is not ours any more.
      }
    })
    return this.#appending
  }

  /** From `offset`, or from the oldest byte that is kept if that is later. */
  read(offset: number, length: number): Promise<{ offset: number; bytes: Buffer }> {
    return this.#inTurn(async () => {
      const start = Math.min(Math.max(offset, this.#end - this.#limit), this.#end)
      const bytes = Buffer.alloc(Math.min(length, this.#end - start))
      if (bytes.length > 0) await this.#fill(bytes, start)
      return { offset: start, bytes }
    })
  }

  /** Nothing is written any more. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
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
      const place = (start + filled) % this.#limit
      const wanted = Math.min(bytes.length - filled, this.#limit - place)
      const { bytesRead } = await file.read(bytes, filled, wanted, place)
      if (bytesRead === 0) throw new Error('a log is shorter than what was written to it')
      filled += bytesRead
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}
