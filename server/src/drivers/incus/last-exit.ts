import type { LastExit } from '../machine-driver.ts'

/**
 * Reads from the log of LXC's monitor how a machine's init ended. The engine's own events do not tell a
 * guest that powered itself off from one whose init was killed. A guest cannot write to this log.
 */
export function readLastExit(log: string): LastExit {
  const lines = log.split('\n').filter((line) => line.includes(' start - '))
  for (const line of lines.reverse()) {
    if (/ - Container "\S+" is halting$/.test(line)) {
      return { kind: 'poweroff', reason: 'the guest powered off' }
    }
    const signal = /- (\S+)\((\d+)\) - Container "\S+" init exited$/.exec(line)
    if (signal)
      return { kind: 'died', reason: `its init was ended by signal ${signal[2]} (${signal[1]})` }
    if (/ - Container init process \d+ exited$/.test(line)) {
      return { kind: 'died', reason: 'its init exited by itself' }
    }
    if (/ Started "\S+" with pid /.test(line)) break
  }
  return { kind: 'unknown', reason: 'the engine kept no record of its end' }
}
