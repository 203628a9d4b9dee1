import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 3
const patienceMs = 2_000

/** Resolves when the file exists, or after two seconds. */
export async function waitForFile(path: string): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!existsSync(path) && performance.now() < deadline) await sleep(pollMs)
}
