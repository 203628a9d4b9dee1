import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signalProcess } from './proc.ts'

const timeoutMs = 1_000

/**
 * Stops the engine's bridges to the agent's socket and resolves when they are gone. The engine
 * starts them from outside the machine, so init is not notified when they exit: at shutdown it
 * would wait 5 s for one that outlives everything else.
 */
export async function stopEngineBridges(): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    // Includes zombies: a bridge exists until the engine has reaped it.
    const bridges = listProcesses().filter(isBridge)
    if (bridges.length === 0 || performance.now() > deadline) return
    for (const pid of bridges) signalProcess(pid, 'SIGTERM')
    await pause(5)
  }
}

/** A process that was started from outside the machine has no parent inside. */
function isBridge(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return /^Name:\tsocat$/m.test(status) && /^PPid:\t0$/m.test(status)
  } catch {
    return false
  }
}
