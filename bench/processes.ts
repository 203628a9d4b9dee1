import { readdirSync, readFileSync } from 'node:fs'
import type { Incus } from './incus.ts'

/*
 * Memory and CPU time of processes, from /proc. Memory is the proportional share (PSS), which divides
 * shared pages among the processes that map them, so that sums are correct.
 */
type Usage = { readonly memoryMb: number; readonly cpuTicks: number }

const ticksPerSecond = 100

/** The usage of a process and its descendants. */
export function readTree(pid: number): Usage {
  return readAll(listTree(pid))
}

/** A process and its descendants. */
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

/** The use of one processor between two readings. */
export function cpuPercent(before: Usage, after: Usage, ms: number): number {
  return ((after.cpuTicks - before.cpuTicks) / ticksPerSecond / (ms / 1000)) * 100
}

/** The pid of a machine's init on the host. */
export async function findInit(incus: Incus, project: string, name: string): Promise<number> {
  const state = await incus.run('query', `/1.0/instances/${name}/state?project=${project}`)
  return (JSON.parse(state) as { pid: number }).pid
}

/** The processes of a machine, found by the control group of its init. */
export function listGuest(initPid: number): number[] {
  const group = groupOf(initPid)
  return listProcesses().filter((pid) => groupOf(pid) === group)
}

/** The pid of a machine's agent, found by the machine's init. */
export function findAgent(initPid: number): number {
  const agent = listGuest(initPid).find((pid) => readCommand(pid).includes('agent.mjs'))
  if (agent === undefined) throw new Error('no agent runs in the machine')
  return agent
}

export function readCommand(pid: number): string {
  return readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

/**
 * The memory of a machine's processes, and its working set, which adds the active file cache. Supports
 * control groups v1 and v2.
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

/** The processor time that a machine has used since its boot. Supports control groups v1 and v2. */
export function readGuestCpuMs(initPid: number): number {
  const legacy = /^\S+ (\S+) cgroup \S*\bcpuacct\b/m.exec(readOrEmpty('/proc/mounts'))?.[1]
  const path = groupOf(initPid)
  if (legacy) return Number(readFileSync(`${legacy}${path}/cpuacct.usage`, 'utf8')) / 1e6
  const stat = readFileSync(`/sys/fs/cgroup${path}/cpu.stat`, 'utf8')
  return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1] ?? NaN) / 1e3
}

/** The control group of the machine that a process belongs to; empty for processes of the host. */
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

/** The fields after the name, which may contain any character: state, parent, … */
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
