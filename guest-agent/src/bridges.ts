import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { listProcesses, signal } from './running.ts'

const boundMs = 1_000

/**
 * Ends the engine's bridges to the agent's socket, and resolves when they are gone. The engine started
 * them from outside, so the machine's init is not told when they die: one that is alive when all else
 * has stopped has it wait 5 s for nothing.
 */
export async function endBridges(): Promise<void> {
  const deadline = performance.now() + boundMs
  for (;;) {
    // Those that have died too, until the engine has taken note of it.
    const bridges = listProcesses().filter(isBridge)
    if (bridges.length === 0 || performance.now() > deadline) return
    for (const pid of bridges) signal(pid, 'SIGTERM')
    await sleep(5)
  }
}

/** Only what came from outside has no parent here. */
function isBridge(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return /^Name:\tsocat$/m.test(status) && /^PPid:\t0$/m.test(status)
  } catch {
    return false
  }
}
