import { setTimeout as delay } from 'node:timers/promises'
import { countUp, record, type Ledger } from './ledger.ts'
import type { Random } from '../harness/random.ts'
import { processNames, type FaultServer, type ProcessName } from './server.ts'

/** One kill: so long after so many operations have begun. */
export type Kill = {
  readonly afterOperations: number
  readonly delayMs: number
  readonly target: Target
}

type Target = {
  readonly name: string
  readonly weight: number
  readonly processes: readonly ProcessName[]
}

const targets: readonly Target[] = [
  { name: 'worker', weight: 32, processes: ['worker'] },
  { name: 'api', weight: 26, processes: ['api'] },
  { name: 'gateway', weight: 6, processes: ['gateway'] },
  { name: 'engine', weight: 12, processes: ['engine'] },
  { name: 'postgres', weight: 10, processes: ['postgres'] },
  { name: 'worker and engine', weight: 4, processes: ['worker', 'engine'] },
  { name: 'all roles', weight: 3, processes: ['worker', 'api', 'gateway'] },
  { name: 'everything', weight: 3, processes: processNames },
  { name: 'supervisor', weight: 3, processes: ['supervisor'] },
  { name: 'supervisor and everything', weight: 1, processes: ['supervisor', ...processNames] },
]
const longestDelayMs = 2_500

export function planKills(
  random: Random,
  round: { readonly operations: number; readonly kills: number },
): Kill[] {
  return Array.from({ length: round.kills }, () => ({
    afterOperations: 1 + random.below(round.operations),
    // Most steps take less than a second.
    delayMs: random.fraction() ** 2 * longestDelayMs,
    target: random.pickWeighted(targets),
  })).sort((a, b) => a.afterOperations - b.afterOperations)
}

/** Carries the plan out; each kill waits until what it ends runs. */
export async function runKills(
  server: Pick<FaultServer, 'kill'>,
  plan: readonly Kill[],
  ledger: Ledger,
  waitForOperations: (count: number) => Promise<void>,
): Promise<void> {
  for (const { afterOperations, delayMs, target } of plan) {
    await waitForOperations(afterOperations)
    await delay(delayMs)
    await server.kill(target.processes)
    record(ledger, `killed ${target.name}`)
    countUp(ledger.counts.kills, target.name)
  }
}
