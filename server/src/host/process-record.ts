import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readBootId } from '../boot-id.ts'
import { replaceFile } from '../replace-file.ts'

/*
 * Records of our processes. After a crash or a reboot, another process may have the same id, so a record
 * also has the kernel's start time of the process, and only a process that matches both is signalled.
 */
export type ProcessRecord = { readonly pid: number; readonly startedAt: string }

/** The process that has this id now, or null if there is none or it is a zombie. */
export function identifyProcess(pid: number): ProcessRecord | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything; the fields that we need follow it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return null
    const boot = readBootId()
    return boot === null ? null : { pid, startedAt: `${boot}:${fields[19]}` }
  } catch {
    return null
  }
}

export function isAlive(record: ProcessRecord): boolean {
  return identifyProcess(record.pid)?.startedAt === record.startedAt
}

/** A record names the boot, so it need not survive a power cut. */
export async function recordProcess(runDir: string, name: string, pid: number): Promise<void> {
  const record = identifyProcess(pid)
  if (!record) return
  await replaceFile(recordPath(runDir, name), JSON.stringify(record), { isDurable: false })
}

export function forgetProcess(runDir: string, name: string): void {
  rmSync(recordPath(runDir, name), { force: true })
}

/** Ends the process that an earlier start recorded under this name. Returns whether it was running. */
export async function endRecorded(
  runDir: string,
  name: string,
  options: { readonly signal: NodeJS.Signals; readonly graceMs: number },
): Promise<boolean> {
  const record = readRecord(runDir, name)
  const wasAlive = record !== null && isAlive(record)
  if (wasAlive) await endProcess(record, options)
  forgetProcess(runDir, name)
  return wasAlive
}

/** Signals a process, and kills it after `graceMs`. Resolves when it is gone. */
export async function endProcess(
  record: ProcessRecord,
  options: { readonly signal: NodeJS.Signals; readonly graceMs: number },
): Promise<void> {
  const deadline = performance.now() + options.graceMs
  let isKilled = false
  if (isAlive(record)) sendSignal(record.pid, options.signal)
  while (isAlive(record)) {
    if (!isKilled && performance.now() > deadline) {
      sendSignal(record.pid, 'SIGKILL')
      isKilled = true
    }
    await delay(20)
  }
}

/** Signals a process, which may have just ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function recordPath(runDir: string, name: string): string {
  return join(runDir, `${name}.pid`)
}

/** The process that was recorded under this name, which may have ended since, or null. */
export function readRecord(runDir: string, name: string): ProcessRecord | null {
  try {
    const text = readFileSync(recordPath(runDir, name), 'utf8')
    const { pid, startedAt } = JSON.parse(text) as Partial<ProcessRecord>
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : null
  } catch {
    return null
  }
}
