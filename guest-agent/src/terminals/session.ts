import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signal } from '../running.ts'

const lookAgainMs = 20
/** A process that the kernel holds may outlive SIGKILL for as long as it likes. */
const maxKillMs = 5_000

/**
 * Hangs up on everything in a session, then kills what is left after `graceMs`. Resolves when nothing
 * of it runs any more.
 */
export async function endSession(sessionId: number, graceMs: number): Promise<void> {
  const startedMs = performance.now()
  for (const pid of membersOf(sessionId)) {
    signal(pid, 'SIGHUP')
    // One that is stopped hears nothing before it goes on.
    signal(pid, 'SIGCONT')
  }
  for (;;) {
    const members = membersOf(sessionId)
    const elapsedMs = performance.now() - startedMs
    if (members.length === 0 || elapsedMs > graceMs + maxKillMs) return
    if (elapsedMs >= graceMs) for (const pid of members) signal(pid, 'SIGKILL')
    await pause(lookAgainMs)
  }
}

/** Without those that have ended and only wait to be taken note of. */
export function membersOf(sessionId: number): number[] {
  return listProcesses().filter((pid) => {
    const stat = readStat(pid)
    return stat?.session === sessionId && stat.state !== 'Z'
  })
}

function readStat(pid: number): { state: string; session: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the program's name, which may hold anything: state, parent, group, session.
    const [state = '', , , session] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, session: Number(session) }
  } catch {
    return undefined
  }
}
