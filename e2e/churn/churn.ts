import { setTimeout as delay } from 'node:timers/promises'
import { auditLedger } from '../faults/audit.ts'
import { createCallers, type Caller } from '../faults/caller.ts'
import { lastingOperations, runNext } from '../faults/choice.ts'
import { compareWhenSettled } from '../faults/compare.ts'
import { createLedger, type Ledger } from '../faults/ledger.ts'
import { openRows } from '../faults/rows.ts'
import { startFaultServer, type FaultServer } from '../faults/server.ts'
import { createRandom } from '../harness/random.ts'
import {
  collectGarbage,
  collectingEnv,
  countDescriptors,
  takeSamples,
  type Sample,
} from './samples.ts'
import { usesThrough } from './uses.ts'

type ChurnOptions = {
  readonly seed: number
  readonly hosts: number
  /** Operations run for this long before the descriptors are counted first: by then, every process has done all it does. */
  readonly warmUpMinutes: number
  readonly minutes: number
}

export type Churn = {
  readonly counts: Ledger['counts']
  readonly samples: readonly Sample[]
  /** How many descriptors each process has more at rest after the churn than after its warm-up. */
  readonly descriptors: ReadonlyMap<string, number>
  /** Contradictions with acknowledged state, and what was left over at the end. */
  readonly differences: readonly string[]
}

const callerCount = 4
const paceMs = 1_000
const sampleEveryMs = 10_000
const samplesPerCollection = 6
const collectionMs = 1_000
/** Servers close a connection of HTTP that has been idle for 72 s. */
const idleSeconds = 80
const unusedSeconds = 5

/** Runs operations on real machines, one a second where the host is fast enough, and watches what the processes hold. */
export async function runChurn(options: ChurnOptions): Promise<Churn> {
  const { seed, hosts, warmUpMinutes, minutes } = options
  const random = createRandom(seed)
  const ledger = createLedger()
  await using server = await startFaultServer(hosts, collectingEnv)
  await using rows = openRows(server.hosts[0]!.dataDir)
  const callers = createCallers(callerCount, { api: server.api, ledger, random, rows })
  const removeMachines = async () => {
    for (const caller of callers) {
      for (const machine of caller.machines) await caller.remove(machine)
    }
  }
  await churn(server, callers, warmUpMinutes)
  await removeMachines()
  const before = await countDescriptors(server, warmUpMinutes > 0 ? idleSeconds : unusedSeconds)
  const samples = await churn(server, callers, minutes)
  await removeMachines()
  const { differences } = await compareWhenSettled(server, rows)
  await auditLedger(callers, await rows.read())
  const after = await countDescriptors(server, idleSeconds)
  const descriptors = new Map([...after].map(([name, count]) => [name, count - before.get(name)!]))
  const { counts, problems } = ledger
  return { counts, samples, descriptors, differences: [...differences, ...problems] }
}

async function churn(
  server: FaultServer,
  callers: readonly Caller[],
  minutes: number,
): Promise<readonly Sample[]> {
  const startMs = performance.now()
  const endMs = startMs + minutes * 60_000
  const operations = [...lastingOperations, ...usesThrough(server.clients)]
  let nextMs = startMs
  const work = async (caller: Caller) => {
    while (performance.now() < endMs) {
      const waitMs = nextMs - performance.now()
      nextMs = Math.max(nextMs, performance.now()) + paceMs
      if (waitMs > 0) await delay(waitMs)
      await runNext(caller, operations)
    }
  }
  const samples: Sample[] = []
  const watch = async () => {
    for (let count = 0; performance.now() < endMs; count += 1) {
      if (count % samplesPerCollection === 0) {
        await collectGarbage(server)
        await delay(collectionMs)
      }
      samples.push(...(await takeSamples(server, (performance.now() - startMs) / 60_000)))
      await delay(sampleEveryMs)
    }
  }
  await Promise.all([...callers.map(work), watch()])
  return samples
}
