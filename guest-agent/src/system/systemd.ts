import { join } from 'node:path'
import { hasImageInit } from './image-init.ts'
import { waitForFile } from './wait-for-file.ts'

/**
 * The machine's systemd, which the image's init starts at the same moment as the agent. The agent may be
 * asked for a command before systemd takes requests, and that command may be one to it.
 */
export class Systemd {
  readonly #socketPath: string
  #isReady: boolean

  constructor(rootPath: string) {
    this.#socketPath = join(rootPath, 'run/systemd/private')
    // Another init has started the agent when it was itself up.
    this.#isReady = !hasImageInit(rootPath)
  }

  /** Resolves when it takes requests, or does not seem to come. */
  async ready(): Promise<void> {
    if (!this.#isReady) await waitForFile(this.#socketPath)
    this.#isReady = true
  }
}
