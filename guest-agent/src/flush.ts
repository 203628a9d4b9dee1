import { runProgram } from './program.ts'
import { Refusal } from './refusal.ts'

const timeoutMs = 30_000

/** Returns when all that was written to the machine's disk before is on it. */
export async function flushDisk(signal: AbortSignal): Promise<void> {
  try {
    await runProgram('/usr/bin/sync', ['--file-system', '/'], { timeoutMs, signal })
  } catch (cause) {
    const message = 'the disk did not take what was written to it'
    throw new Refusal('compute_unavailable', message, { cause })
  }
}
