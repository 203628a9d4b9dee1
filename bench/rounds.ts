import type { Pair, Sample } from './measure.ts'

/** One run. It times itself, because its preparation and its checks do not count. */
type Side = (round: number) => Promise<Sample>

export type Plan = {
  readonly rounds: number
  readonly warmups: number
  readonly budgetMs: number
  /** Called for each run that counts and timed itself with `time`. */
  readonly onRun?: ((run: Run) => void) | undefined
}

/** When a run was timed, in milliseconds since 1970. */
export type Run = { readonly side: string; readonly startMs: number; readonly ms: number }

/** The calls of `time` within the present run. Runs never overlap. */
let timed: Omit<Run, 'side'>[] = []

/**
 * Runs every side once per round, in alternating order (A B, B A), so that no side profits from its
 * position. Warm-up rounds lose their times and keep their errors. When the budget is used up, the
 * rounds so far are the result.
 */
export async function runRounds<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  plan: Plan,
  say: (progress: string) => void,
): Promise<Record<Name, Sample>[]> {
  const forwards = Object.keys(sides) as Name[]
  const deadline = performance.now() + plan.budgetMs
  const results: Record<Name, Sample>[] = []
  for (let round = -plan.warmups; round < plan.rounds; round++) {
    if (round > 0 && performance.now() > deadline) break
    say(round < 0 ? `warming up (${-round} to go)` : `${round + 1} of ${plan.rounds}`)
    const order = round % 2 === 0 ? forwards : forwards.toReversed()
    const result = {} as Record<Name, Sample>
    for (const name of order) {
      timed = []
      const sample = await attempt(sides[name], round + plan.warmups)
      const run = timed.find(({ ms }) => ms === sample.ms)
      if (run && round >= 0) plan.onRun?.({ side: name, ...run })
      result[name] = sample
    }
    results.push(round < 0 ? withoutTimes(result) : result)
  }
  return results
}

export function pairUp<Name extends string>(
  rounds: readonly Record<Name, Sample>[],
  baseline: Name,
  ours: Name,
): Pair[] {
  return rounds.map((round) => ({ baseline: round[baseline], ours: round[ours] }))
}

/** The duration of a call, and its result. */
export async function time<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now()
  const result = await work()
  const ms = performance.now() - start
  timed.push({ startMs: performance.timeOrigin + start, ms })
  return { ms, result }
}

function withoutTimes<Name extends string>(result: Record<Name, Sample>): Record<Name, Sample> {
  const entries = Object.entries<Sample>(result)
  return Object.fromEntries(
    entries.map(([name, sample]) => [name, { ...sample, ms: NaN }]),
  ) as Record<Name, Sample>
}

async function attempt(side: Side, round: number): Promise<Sample> {
  try {
    return await side(round)
  } catch (error) {
    return { ms: NaN, wrong: (error as Error).message }
  }
}
