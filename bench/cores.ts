import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** Pins processes with all their threads to one core until it is disposed of. */
export function pinTo(core: number, pids: readonly number[]): Disposable {
  const before = pids.map((pid) => ({ pid, cores: coresOf(pid) }))
  for (const pid of pids) setCores(pid, String(core))
  return {
    [Symbol.dispose]() {
      for (const { pid, cores } of before) setCores(pid, cores)
    },
  }
}

function coresOf(pid: number): string {
  return /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!
}

function setCores(pid: number, cores: string): void {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)])
  } catch (error) {
    // The process may have ended meanwhile.
    if (existsSync(`/proc/${pid}`)) throw error
  }
}
