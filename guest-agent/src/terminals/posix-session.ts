import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signalProcess } from '../system/proc.ts'

const pollMs = 20
/** A process in an uninterruptible system call outlives SIGKILL. */
const maxKillMs = 5_000

/**
 * Hangs up on every process of a session and kills those left after `graceMs`. Resolves when none
 * runs any more.
 */
export async function endSession(sessionId: number, graceMs: number): Promise<void> {
  const startedMs = performance.now()
  for (const pid of sessionMembers(sessionId)) {
    signalProcess(pid, 'SIGHUP')
    // A stopped process handles the hangup only once it is continued.
    signalProcess(pid, 'SIGCONT')
  }
  for (;;) {
    const members = sessionMembers(sessionId)
    const elapsedMs = performance.now() - startedMs
    if (members.length === 0 || elapsedMs > graceMs + maxKillMs) return
    if (elapsedMs >= graceMs) for (const pid of members) signalProcess(pid, 'SIGKILL')
    await pause(pollMs)
  }
}

/** Without zombies. */
export function sessionMembers(sessionId: number): number[] {
  return listProcesses().filter((pid) => {
    const stat = readStat(pid)
    return stat?.session === sessionId && stat.state !== 'Z'
  })
}

function readStat(pid: number): { state: string; session: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the program's name, which may have any characters: state, parent, group, session.
    const [state = '', , , session] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, session: Number(session) }
  } catch {
    return undefined
  }
}
