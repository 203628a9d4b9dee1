import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/random.ts'
import type { FaultHost, ProcessName } from './fault-host.ts'
import { countUp, record, type Ledger } from './ledger.ts'
import type { FaultServer, Victim } from './server.ts'

/** One kill, a delay after a number of operations has started. */
export type Kill = {
  readonly afterOperations: number
  readonly delayMs: number
  readonly name: string
  readonly run: (server: Pick<FaultServer, 'kill'>) => Promise<void>
}

type Target = {
  readonly name: string
  readonly weight: number
  victimsOf(host: FaultHost): readonly ProcessName[]
}

const targets: readonly Target[] = [
  { name: 'worker', weight: 32, victimsOf: () => ['worker'] },
  { name: 'api', weight: 26, victimsOf: () => ['api'] },
  { name: 'gateway', weight: 6, victimsOf: () => ['gateway'] },
  { name: 'engine', weight: 12, victimsOf: () => ['engine'] },
  { name: 'postgres', weight: 10, victimsOf: () => ['postgres'] },
  { name: 'worker and engine', weight: 4, victimsOf: () => ['worker', 'engine'] },
  { name: 'all services', weight: 3, victimsOf: () => ['worker', 'api', 'gateway'] },
  { name: 'everything', weight: 3, victimsOf: ({ processes }) => processes },
  { name: 'supervisor', weight: 3, victimsOf: () => ['supervisor'] },
  {
    name: 'supervisor and everything',
    weight: 1,
    victimsOf: ({ processes }) => ['supervisor', ...processes],
  },
]
const longestDelayMs = 2_500

export function planKills(
  random: Random,
  round: {
    readonly operations: number
    readonly kills: number
    readonly hosts: readonly FaultHost[]
  },
): Kill[] {
  return Array.from({ length: round.kills }, () => {
    const afterOperations = 1 + random.below(round.operations)
    // Most steps take less than a second.
    const delayMs = random.fraction() ** 2 * longestDelayMs
    return { afterOperations, delayMs, ...choose(random, round.hosts) }
  }).sort((a, b) => a.afterOperations - b.afterOperations)
}

/** Long enough for the others to take the host for gone. */
const awayMs = 35_000
const hostWeight = 5

/** The database is on the first host, which is never away for long. */
function choose(random: Random, hosts: readonly FaultHost[]): Pick<Kill, 'name' | 'run'> {
  const [first, ...others] = hosts as [FaultHost, ...FaultHost[]]
  const away = { name: 'host', weight: hostWeight, victimsOf: () => [] }
  const target = random.pickWeighted(others.length > 0 ? [...targets, away] : targets)
  if (target === away) {
    const host = random.pick(others)
    return { name: host.name, run: () => host.goAway(awayMs) }
  }
  const host = target.name === 'postgres' ? first : random.pick(hosts)
  const victims = target.victimsOf(host).map((process): Victim => ({ host, process }))
  return {
    name: others.length === 0 ? target.name : `${target.name} of ${host.name}`,
    run: (server) => server.kill(victims),
  }
}

/** Carries out the plan. Each kill first waits until its targets run. */
export async function runKills(
  server: Pick<FaultServer, 'kill'>,
  plan: readonly Kill[],
  ledger: Ledger,
  waitForOperations: (count: number) => Promise<void>,
): Promise<void> {
  for (const { afterOperations, delayMs, name, run } of plan) {
    await waitForOperations(afterOperations)
    await delay(delayMs)
    await run(server)
    record(ledger, `killed ${name}`)
    countUp(ledger.counts.kills, name)
  }
}
