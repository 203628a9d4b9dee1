import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 3
const patienceMs = 2_000

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
    this.#isReady = !existsSync(join(rootPath, 'usr/lib/computer/init'))
  }

  /** Resolves when it takes requests, or does not seem to come. */
  async ready(): Promise<void> {
    const deadline = performance.now() + patienceMs
    while (!this.#isReady && !existsSync(this.#socketPath)) {
      if (performance.now() > deadline) break
      await sleep(pollMs)
    }
    this.#isReady = true
  }
}
