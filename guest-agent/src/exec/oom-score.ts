import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/** The agent may be protected from the OOM killer; the processes it starts must not be. */
export function resetOomScore(child: ChildProcess): void {
  if (!isProtected) return
  try {
    writeFileSync(`/proc/${child.pid}/oom_score_adj`, '0')
  } catch {
    // It has exited already.
  }
}

const isProtected = Number(readFileSync('/proc/self/oom_score_adj', 'utf8')) < 0
