import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Incus } from './incus.ts'

/*
 * What processes take of the host, from /proc. Memory is the proportional share (PSS): pages that
 * several processes map count once over all of them, so that sums are true.
 */
export type Usage = { readonly memoryMb: number; readonly cpuTicks: number }

const ticksPerSecond = 100

/** A process of the server, by the name of its role. */
export function readRolePid(dataDir: string, role: string): number {
  const record = readFileSync(join(dataDir, 'run', `${role}.pid`), 'utf8')
  return (JSON.parse(record) as { pid: number }).pid
}

/** What a process and all below it use. */
export function readTree(pid: number): Usage {
  return readAll(listTree(pid))
}

/** A process and all below it. */
export function listTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const id of listProcesses()) {
    const parent = Number(readStat(id)?.[1] ?? 0)
    children.set(parent, [...(children.get(parent) ?? []), id])
  }
  const all = [pid]
  for (const one of all) all.push(...(children.get(one) ?? []))
  return all
}

export function readAll(pids: readonly number[]): Usage {
  let [memoryMb, cpuTicks] = [0, 0]
  for (const pid of pids) {
    memoryMb += readPssMb(pid)
    const stat = readStat(pid)
    cpuTicks += Number(stat?.[11] ?? 0) + Number(stat?.[12] ?? 0)
  }
  return { memoryMb, cpuTicks }
}

/** Of one processor, between two readings. */
export function cpuPercent(before: Usage, after: Usage, ms: number): number {
  return ((after.cpuTicks - before.cpuTicks) / ticksPerSecond / (ms / 1000)) * 100
}

/** A machine's first process. */
export async function findInit(incus: Incus, project: string, name: string): Promise<number> {
  const state = await incus.run('query', `/1.0/instances/${name}/state?project=${project}`)
  return (JSON.parse(state) as { pid: number }).pid
}

/** Processes whose control groups lie below that of a machine's first process. */
export function listGuest(initPid: number): number[] {
  const group = groupOf(initPid)
  return listProcesses().filter((pid) => groupOf(pid) === group)
}

export function readCommand(pid: number): string {
  return readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

/**
 * What a machine holds: memory of its processes alone, and with the file cache that it would miss
 * (all but the inactive part). Both kinds of control groups are understood.
 */
export function readGuestMemory(initPid: number): { processesMb: number; workingSetMb: number } {
  const path = groupOf(initPid)
  const legacy = /^\S+ (\S+) cgroup \S*\bmemory\b/m.exec(readOrEmpty('/proc/mounts'))?.[1]
  const folder = legacy ? `${legacy}${path}` : `/sys/fs/cgroup${path}`
  const prefix = legacy ? 'total_' : ''
  const stat = readFileSync(`${folder}/memory.stat`, 'utf8')
  const count = (name: string) =>
    Number(new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? NaN)
  const usage = Number(
    readFileSync(`${folder}/${legacy ? 'memory.usage_in_bytes' : 'memory.current'}`, 'utf8'),
  )
  return {
    processesMb: count(legacy ? 'rss' : 'anon') / 2 ** 20,
    workingSetMb: (usage - count('inactive_file')) / 2 ** 20,
  }
}

/** The machine's own group, which its processes' groups lie in; empty for what is in no machine. */
function groupOf(pid: number): string {
  const groups = readOrEmpty(`/proc/${pid}/cgroup`)
  const line = /^\d+:memory:(.*)$/m.exec(groups) ?? /^0::(.*)$/m.exec(groups)
  return /^.*\/lxc\.payload\.[^/]+/.exec(line?.[1] ?? '')?.[0] ?? ''
}

function listProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

/** The fields after the name, which may hold anything: state, parent, … */
function readStat(pid: number): string[] | undefined {
  const text = readOrEmpty(`/proc/${pid}/stat`)
  return text === '' ? undefined : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function readPssMb(pid: number): number {
  const text = readOrEmpty(`/proc/${pid}/smaps_rollup`)
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1024
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
