import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sendSignal } from '../../server/src/host/process-record.ts'
import type { FaultHost, ProcessName } from '../faults/fault-host.ts'
import type { FaultServer } from '../faults/server.ts'

/** Memory and descriptors that a process of the server holds at a moment. */
export type Sample = {
  /** Since the begin of the churn. */
  readonly minutes: number
  readonly process: string
  readonly pid: number
  /** The resident memory of the process. */
  readonly megabytes: number
  /** The memory of its objects and buffers after its last collection of garbage. Undefined before the first one. */
  readonly heldMegabytes: number | undefined
  readonly descriptors: number
}

/** The engine's memory is not ours: its runtime keeps what a burst has needed. */
const measured: readonly ProcessName[] = ['worker', 'api', 'gateway']

/** Settings of a server whose processes `collectGarbage` reaches. */
export const collectingEnv = {
  NODE_OPTIONS: `--import=${import.meta.resolve('./collect-on-signal.ts')}`,
}

/**
 * Lets every process collect its garbage, and returns before they have: Node keeps garbage for as long as the host has
 * memory, so what a process holds shows nothing of what it needs.
 */
export async function collectGarbage({ hosts }: FaultServer): Promise<void> {
  for (const host of hosts)
    for (const name of measured) sendSignal((await findRunning(host, name)).pid, 'SIGUSR2')
}

export async function takeSamples({ hosts }: FaultServer, minutes: number): Promise<Sample[]> {
  const samples = hosts.flatMap((host) => measured.map((name) => takeSample(host, name, minutes)))
  return Promise.all(samples)
}

async function takeSample(host: FaultHost, name: ProcessName, minutes: number): Promise<Sample> {
  const process = `${name} of ${host.name}`
  const { pid } = await findRunning(host, name)
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  const descriptors = (await readdir(`/proc/${pid}/fd`)).length
  // The file is empty while the process writes it.
  const heldPath = join(host.dataDir, 'run', `held-${pid}`)
  const held = await readFile(heldPath, 'utf8').catch(() => '')
  return {
    minutes,
    process,
    pid,
    megabytes: (kilobytes * 1024) / 1e6,
    heldMegabytes: held === '' ? undefined : Number(held) / 1e6,
    descriptors,
  }
}

async function findRunning(host: FaultHost, name: ProcessName) {
  const record = await host.find(name)
  if (record === null) throw new Error(`${name} of ${host.name} does not run`)
  return record
}

/** The fewest descriptors that each process has within that time. */
export async function countDescriptors(
  server: FaultServer,
  seconds: number,
): Promise<ReadonlyMap<string, number>> {
  const fewest = new Map<string, number>()
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs;) {
    for (const { process, descriptors } of await takeSamples(server, 0))
      fewest.set(process, Math.min(descriptors, fewest.get(process) ?? descriptors))
    await delay(2_000)
  }
  return fewest
}

export type Growth = {
  readonly megabytes: number
  /** How long it was measured. */
  readonly hours: number
  readonly megabytesPerHour: number
  /** Two standard errors of `megabytesPerHour`: a process that does not grow is beyond them in one of forty churns. */
  readonly uncertainty: number
}

export type ProcessGrowth = {
  readonly process: string
  readonly resident: Growth
  /** Tells more, because it has none of the pages that Node keeps for later. */
  readonly held: Growth
}

const bucketMinutes = 5
const bucketsPerHour = 60 / bucketMinutes

/**
 * How the memory of each process grew. The least of every five minutes counts, which a process holds after it has
 * collected its garbage. Throws if a process was started again.
 */
export function measureGrowth(
  samples: readonly Sample[],
  skipMinutes: number,
): readonly ProcessGrowth[] {
  const byProcess = Map.groupBy(samples, ({ process }) => process)
  return [...byProcess].map(([process, own]) => {
    if (own.some(({ pid }) => pid !== own[0]!.pid)) throw new Error(`${process} was started again`)
    const counted = own.filter(({ minutes }) => minutes >= skipMinutes)
    const buckets = [...Map.groupBy(counted, ({ minutes }) => Math.floor(minutes / bucketMinutes))]
    const growthOf = (read: (sample: Sample) => number) =>
      fitGrowth(buckets.map(([, bucket]) => Math.min(...bucket.map(read))))
    return {
      process,
      resident: growthOf(({ megabytes }) => megabytes),
      held: growthOf(({ heldMegabytes }) => heldMegabytes ?? Infinity),
    }
  })
}

function fitGrowth(megabytes: readonly number[]): Growth {
  const { slope, error } = fitLine(megabytes)
  return {
    megabytes: megabytes.at(-1)!,
    hours: megabytes.length / bucketsPerHour,
    megabytesPerHour: slope * bucketsPerHour,
    uncertainty: 2 * error * bucketsPerHour,
  }
}

/** The slope by the method of least squares, per step, and its standard error. */
function fitLine(values: readonly number[]): { readonly slope: number; readonly error: number } {
  if (values.length < 3) return { slope: 0, error: 0 }
  const middle = (values.length - 1) / 2
  const mean = sum(values) / values.length
  const spread = sum(values.map((_, index) => (index - middle) ** 2))
  const slope = sum(values.map((value, index) => (index - middle) * (value - mean))) / spread
  const squares = values.map((value, index) => (value - mean - slope * (index - middle)) ** 2)
  return { slope, error: Math.sqrt(sum(squares) / (values.length - 2) / spread) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
