import type { LastExit } from '../machine-driver.ts'

/**
 * Reads from the log of LXC's monitor how a machine's init ended. The engine's own events do not tell a
 * guest that powered itself off from one whose init was killed. A guest cannot write to this log.
 */
export function readLastExit(log: string, now: Date): LastExit {
  const lines = log.split('\n').filter((line) => line.includes(' start - '))
  for (const line of lines.reverse()) {
    if (/ - Container "\S+" is rebooting$/.test(line)) return reboot
    if (/ - Container "\S+" is halting$/.test(line)) {
      return { kind: 'poweroff', reason: 'the guest powered off' }
    }
    const signal = /- (\S+)\((\d+)\) - Container "\S+" init exited$/.exec(line)
    if (signal)
      return { kind: 'died', reason: `its init was ended by signal ${signal[2]} (${signal[1]})` }
    if (/ - Container init process \d+ exited$/.test(line)) {
      return { kind: 'died', reason: 'its init exited by itself' }
    }
    if (/ Started "\S+" with pid /.test(line)) return unknown
  }
  // Each start begins a new log, so a recent one without the start is of a start that is under way. An
  // old one was emptied by the sweep.
  return now.getTime() - lastTime(log) < startTimeoutMs ? reboot : unknown
}

const startTimeoutMs = 15_000

/** The time of the last line, in milliseconds since the epoch. */
function lastTime(log: string): number {
  const stamps = log.matchAll(/^lxc .*?\b(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\.\d{3} /gm)
  const [, year, month, day, hour, minute, second] = [...stamps].at(-1) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

const reboot: LastExit = { kind: 'reboot', reason: 'the guest rebooted' }
const unknown: LastExit = { kind: 'unknown', reason: 'the engine kept no record of its end' }
