import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sendSignal } from '../../server/src/host/process-record.ts'
import type { Collected } from './collect-on-signal.ts'
import type { FaultHost, ProcessName } from '../faults/fault-host.ts'
import type { FaultServer } from '../faults/server.ts'

/** Memory and descriptors that a process of the server holds at a moment. */
export type Sample = {
  /** Since the begin of the churn. */
  readonly minutes: number
  readonly process: string
  readonly pid: number
  readonly residentMegabytes: number
  /** After its last collection of garbage. Undefined before the first one. */
  readonly collected: Collected | undefined
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
  const collectedPath = join(host.dataDir, 'run', `collected-${pid}`)
  const text = await readFile(collectedPath, 'utf8').catch(() => '')
  // The file is empty while the process writes it.
  const collected = text === '' ? undefined : (JSON.parse(text) as Collected)
  const residentMegabytes = (kilobytes * 1024) / 1e6
  return { minutes, process, pid, residentMegabytes, collected, descriptors }
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
  readonly megabytesPerHour: number
  /** Two standard errors of `megabytesPerHour`: a process that does not grow is beyond them in one of forty churns. */
  readonly uncertainty: number
}

export type ProcessGrowth = {
  readonly process: string
  readonly resident: Growth
  /** Resident memory without the part of V8's pages that no object fills, which comes and goes for hours. */
  readonly filled: Growth
  /** Objects and buffers. */
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
    const growthAfter = (read: (collected: Collected) => number) =>
      growthOf(({ collected }) => (collected === undefined ? Infinity : read(collected) / 1e6))
    return {
      process,
      resident: growthOf(({ residentMegabytes }) => residentMegabytes),
      filled: growthAfter(({ resident, spare }) => resident - spare),
      held: growthAfter(({ held }) => held),
    }
  })
}

function fitGrowth(megabytes: readonly number[]): Growth {
  const { slope, error } = fitLine(megabytes)
  return {
    megabytes: megabytes.at(-1)!,
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
