import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync, renameSync, unlinkSync } from 'node:fs'

/**
 * A file that is written under a temporary name and gets its own with `commit`, so that readers see
 * the old content or the new, never a part. Disposing of it without a commit removes it.
 *
 * It is not synced to the disk: the server asks for that where it matters (flush.ts).
 */
export class AtomicFile implements Disposable {
  readonly fd: number
  readonly #directory: string
  readonly #temporaryPath: string
  #isCommitted = false

  /** `directory` should name an open descriptor (/proc/self/fd/N) where others can rename it. */
  constructor(directory: string, mode = 0o600) {
    this.#directory = directory
    this.#temporaryPath = `${directory}/.${randomUUID()}.partial`
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
    this.fd = openSync(this.#temporaryPath, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode)
  }

  /** Replaces whatever has the name, a symlink itself. Fails if it is a directory. */
  commit(name: string): void {
    renameSync(this.#temporaryPath, `${this.#directory}/${name}`)
    this.#isCommitted = true
  }

  [Symbol.dispose](): void {
    closeSync(this.fd)
    if (this.#isCommitted) return
    try {
      unlinkSync(this.#temporaryPath)
    } catch {
      // The directory may be gone. The caller needs the error that prevented the commit.
    }
  }
}
