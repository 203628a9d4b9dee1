import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signalProcess } from '../system/proc.ts'

const pollMs = 20
/** A process in an uninterruptible system call outlives SIGKILL. */
const maxKillMs = 5_000

/**
 * Hangs up on every process of a session and kills those left after `graceMs`. Resolves when none
 * runs any more. Of what starts after the hangup only the command itself is hung up: its leader ignores
 * hangups, and other programs may need what they start to end well.
 */
export async function endSession(sessionId: number, graceMs: number): Promise<void> {
  const startedMs = performance.now()
  const hungUp = new Set<string>()
  for (;;) {
    const members = listMembers(sessionId)
    const elapsedMs = performance.now() - startedMs
    if (members.length === 0 || elapsedMs > graceMs + maxKillMs) return
    const isFirst = hungUp.size === 0
    for (const { pid, parent, program } of members) {
      if (elapsedMs >= graceMs) signalProcess(pid, 'SIGKILL')
      else if (isFirst || (parent === sessionId && !hungUp.has(program))) {
        hangUp(pid)
        hungUp.add(program)
      }
    }
    await pause(pollMs)
  }
}

function hangUp(pid: number): void {
  signalProcess(pid, 'SIGHUP')
  // A stopped process handles the hangup only once it is continued.
  signalProcess(pid, 'SIGCONT')
}

/** Without zombies. */
export function sessionMembers(sessionId: number): number[] {
  return listMembers(sessionId).map(({ pid }) => pid)
}

type Member = {
  readonly pid: number
  readonly parent: number
  /** Tells a process from what it was before it executed another program. */
  readonly program: string
}

function listMembers(sessionId: number): Member[] {
  return listProcesses().flatMap((pid) => {
    const stat = readStat(pid)
    return stat?.session === sessionId && stat.state !== 'Z' ? [stat] : []
  })
}

function readStat(
  pid: number,
): (Member & { readonly state: string; readonly session: number }) | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the program's name, which may have any characters: state, parent, group, session.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent, , session] = fields
    const program = `${pid} ${fields[startStack]}`
    return { pid, parent: Number(parent), program, state, session: Number(session) }
  } catch {
    return undefined
  }
}

/** The field of the address of the stack, which the kernel chooses anew for each program. */
const startStack = 25
