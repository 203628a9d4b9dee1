import type { TestServer } from '../../server/test/harness.ts'
import { createRandom } from '../harness/random.ts'
import { check, type Violation } from './check.ts'
import { startMachine, type MachineOptions } from './machine.ts'
import { playHistory } from './play.ts'
import type { History } from './history.ts'

type HistoriesOptions = MachineOptions & {
  readonly seed: number
  readonly histories: number
  readonly operations: number
  /** How many histories are played concurrently, each on its own machine. */
  readonly machines: number
  readonly onPlayed?: (played: number) => void
  /** An abort lets running histories end. */
  readonly signal?: AbortSignal
}

export type Histories = {
  readonly played: number
  readonly counts: Counts
  readonly broken: readonly Broken[]
}
export type Counts = Record<
  'grants' | 'helped' | 'expiries' | 'inputs' | 'done' | 'refused' | 'landings',
  number
>
type Broken = {
  readonly index: number
  readonly violations: readonly Violation[]
  readonly history: History
}

/** Plays histories, each with its own seed, until all are played or one breaks a promise. */
export async function playHistories(
  server: TestServer,
  { seed, histories, operations, machines, onPlayed, signal, ...options }: HistoriesOptions,
): Promise<Histories> {
  const counts = { grants: 0, helped: 0, expiries: 0, inputs: 0, done: 0, refused: 0, landings: 0 }
  const broken: Broken[] = []
  let next = 0
  let played = 0
  const shouldContinue = () => next < histories && broken.length === 0 && !signal?.aborted
  const playOnMachine = async () => {
    await using machine = await startMachine(server, options)
    while (shouldContinue()) {
      const index = next++
      const random = createRandom(seed).fork(`history ${index}`)
      const history = await playHistory(machine, { random, operations })
      count(counts, history)
      const violations = check(history)
      if (violations.length > 0) broken.push({ index, violations, history })
      played += 1
      onPlayed?.(played)
    }
  }
  const results = await Promise.allSettled(Array.from({ length: machines }, playOnMachine))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return { played, counts, broken }
}

function count(counts: Counts, { grants, expiries, inputs, landings }: History): void {
  counts.grants += grants.length
  counts.helped += grants.filter(({ isHelp }) => isHelp).length
  counts.expiries += expiries.length
  counts.inputs += inputs.length
  counts.done += inputs.filter(({ outcome }) => outcome === 'done').length
  counts.refused += inputs.filter(({ outcome }) => outcome === 'refused').length
  counts.landings += landings.length
}

export function describe({ played, counts }: Histories): string {
  const { grants, helped, expiries, inputs, done, refused, landings } = counts
  return (
    `${played} histories: ${grants} grants (${helped} to people who help), ${expiries} expiries, ${inputs} inputs ` +
    `(${done} done, ${refused} refused), ${landings} events at the display`
  )
}
