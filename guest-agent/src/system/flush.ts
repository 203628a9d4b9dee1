import { runProgram } from './program.ts'
import { AgentError } from '../errors.ts'

const timeoutMs = 30_000

/** Resolves when everything written to the machine's disk so far is on it. */
export async function flushDisk(signal: AbortSignal): Promise<void> {
  try {
    await runProgram('/usr/bin/sync', ['--file-system', '/'], { timeoutMs, signal })
  } catch (cause) {
    const message = 'could not flush the disk; try again'
    throw new AgentError('compute_unavailable', message, { cause })
  }
}
