import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The pid of one of the server's processes, such as `api` or `postgres`. */
export function readServerPid(dataDir: string, name: string): number {
  const record = readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8')
  return (JSON.parse(record) as { pid: number }).pid
}

/** Memory in MB as /proc/PID/status shows it: now (`VmRSS`), at its peak (`VmHWM`), not shared (`RssAnon`). */
export function memoryMb(status: string, field: 'VmRSS' | 'VmHWM' | 'RssAnon'): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? NaN) / 1024
}
