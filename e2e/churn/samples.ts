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
  /** What is resident of it. */
  readonly megabytes: number
  /** What its objects and buffers take, when it collected its garbage last. Undefined before that. */
  readonly heldMegabytes: number | undefined
  readonly descriptors: number
}

/** The engine's memory is not ours: its runtime keeps what a burst has needed. */
const measured: readonly ProcessName[] = ['worker', 'api', 'gateway']

/** Settings of a server whose processes `collectGarbage` reaches. They write what they hold into the folder. */
export function collectingEnv(folder: string) {
  return {
    NODE_OPTIONS: `--import=${import.meta.resolve('./collect-on-signal.ts')}`,
    COMPUTER_CHURN_HELD: heldPath(folder, ''),
  }
}

function heldPath(folder: string, pid: number | ''): string {
  return join(folder, `held-${pid}`)
}

/**
 * Lets every process collect its garbage, and returns before they have: Node keeps garbage for as long as the host has
 * memory, so what a process holds shows nothing of what it needs.
 */
export async function collectGarbage({ hosts }: FaultServer): Promise<void> {
  for (const host of hosts)
    for (const name of measured) sendSignal((await findRunning(host, name)).pid, 'SIGUSR2')
}

/** `folder` is that of `collectingEnv`. */
export async function takeSamples(
  { hosts }: FaultServer,
  folder: string,
  minutes: number,
): Promise<Sample[]> {
  const take = async (host: FaultHost, name: ProcessName) => ({
    minutes,
    ...(await takeSample(host, name, folder)),
  })
  return Promise.all(hosts.flatMap((host) => measured.map((name) => take(host, name))))
}

async function takeSample(
  host: FaultHost,
  name: ProcessName,
  folder: string,
): Promise<Omit<Sample, 'minutes'>> {
  const process = `${name} of ${host.name}`
  const { pid } = await findRunning(host, name)
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  const descriptors = (await readdir(`/proc/${pid}/fd`)).length
  // Empty while it is written.
  const held = await readFile(heldPath(folder, pid), 'utf8').catch(() => '')
  return {
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
  folder: string,
  seconds: number,
): Promise<ReadonlyMap<string, number>> {
  const fewest = new Map<string, number>()
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs;) {
    for (const { process, descriptors } of await takeSamples(server, folder, 0))
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
