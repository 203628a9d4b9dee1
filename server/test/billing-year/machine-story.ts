import type { MachineSize } from '@computer/contract'
import { founded, over } from './account-story.ts'
import { createRandom, type Random } from '../../../e2e/harness/random.ts'

/* The lives of fifty machines in the simulated year: the same for the same seed. */

export type MachineHappening = { readonly at: string; readonly machine: string } & (
  | { readonly what: 'created' | 'resized'; readonly size: MachineSize }
  | { readonly what: 'starting' | 'running' | 'stopping' | 'stopped' | 'failed' | 'deleted' }
  | { readonly what: 'served'; readonly bytes: number }
  /** A disk was copied, for a snapshot; a template names the copy as well; one of them does no more. */
  | {
      readonly what: 'copied'
      readonly copy: string
      readonly bytes: number
      readonly as: 'snapshot'
    }
  | { readonly what: 'named'; readonly copy: string; readonly as: 'template' }
  | { readonly what: 'dropped'; readonly copy: string; readonly as: 'snapshot' | 'template' }
  /** These must cost nothing. */
  | { readonly what: 'not copied' }
  | { readonly what: 'relabeled'; readonly team: string }
)

const day = 86_400_000
const [yearStart, yearEnd] = [Date.parse(founded), Date.parse(over)]
const sizes: readonly MachineSize[] = ['small', 'standard', 'large']

/** A payment is missing for so long then that no machine can be created. */
const noBirths = [Date.UTC(2028, 9, 16), Date.UTC(2028, 10, 3)] as const

export function tellMachines(seed: number): MachineHappening[] {
  const random = createRandom(seed)
  const told: MachineHappening[] = []
  for (let index = 0; index < 46; index++) {
    live(random, `m${String(index).padStart(2, '0')}`, told)
  }
  told.push(...edges)
  return told.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

function live(random: Random, machine: string, told: MachineHappening[]): void {
  const isOld = random.fraction() < 0.4
  let now = yearStart + 3_600_000 + random.below(isOld ? 9 * day : 300 * day)
  if (now >= noBirths[0] && now < noBirths[1]) now = noBirths[1] + random.below(day)
  const isKept = random.fraction() < 0.3
  const death = Math.min(now + random.below(isKept ? 900 * day : 160 * day), yearEnd - 12 * day)
  let size = random.below(3)
  const copies: string[] = []
  say({ what: 'created', size: sizes[size]! })
  const isStarted = random.fraction() < 0.8
  pass(random.below(40_000))
  say({ what: isStarted ? 'running' : 'stopped' })
  let isRunning = isStarted
  while (now < death) {
    if (isRunning) run()
    else rest()
  }
  pass(random.below(day))
  say({ what: 'deleted' })
  // The newest first: no other can be deleted.
  for (const copy of copies.toReversed()) {
    pass(random.below(5 * day))
    say({ what: 'dropped', copy, as: 'snapshot' })
  }

  function run(): void {
    pass(duration(18))
    if (random.fraction() < 0.4) serve()
    if (random.fraction() < 0.2) copyDisk()
    if (random.fraction() < 0.05) say({ what: 'not copied' })
    if (random.fraction() < 0.2) say({ what: 'relabeled', team: `team ${random.below(4)}` })
    const copy = random.fraction() < 0.3 ? copies.pop() : undefined
    if (copy !== undefined) {
      pass(random.below(day))
      say({ what: 'dropped', copy, as: 'snapshot' })
    }
    if (random.fraction() < 0.1) return fail()
    pass(random.below(90_000))
    say({ what: 'stopping' })
    pass(random.below(60_000))
    // A guest may refuse to shut down.
    isRunning = random.fraction() < 0.1
    say({ what: isRunning ? 'running' : 'stopped' })
  }

  function rest(): void {
    pass(duration(9))
    if (size < 2 && random.fraction() < 0.15) {
      size += 1
      say({ what: 'resized', size: sizes[size]! })
      pass(random.below(3_000))
    }
    boot()
  }

  function fail(): void {
    say({ what: 'failed' })
    pass(random.below(day))
    boot()
  }

  function boot(): void {
    say({ what: 'starting' })
    pass(random.below(20_000))
    say({ what: 'running' })
    isRunning = true
  }

  function serve(): void {
    // The last moment of the month, or any.
    const last = Date.UTC(2028, new Date(now).getUTCMonth() + 1) - 1
    const isLast = random.fraction() < 0.3 && last > now && last < death && now < Date.UTC(2029, 0)
    if (isLast) now = last
    say({ what: 'served', bytes: 1 + random.below(2 ** 36) })
  }

  function copyDisk(): void {
    const copy = `${machine} copy ${told.length}`
    say({ what: 'copied', copy, bytes: random.below(2 ** 34), as: 'snapshot' })
    if (random.fraction() >= 0.4) return void copies.push(copy)
    say({ what: 'named', copy, as: 'template' })
    const isSnapshotFirst = random.fraction() < 0.5
    pass(random.below(15 * day))
    say({ what: 'dropped', copy, as: isSnapshotFirst ? 'snapshot' : 'template' })
    if (!isSnapshotFirst) return void copies.push(copy)
    pass(random.below(15 * day))
    say({ what: 'dropped', copy, as: 'template' })
  }

  /** Most are days, and some are shorter than a second. */
  function duration(days: number): number {
    return random.below(random.fraction() < 0.15 ? 1_500 : days * day)
  }

  /** Time passes. Every fourth moment is a whole second. */
  function pass(ms: number): void {
    now += ms
    if (random.fraction() < 0.25) now = Math.ceil(now / 1_000) * 1_000
  }

  function say(happening: Untold): void {
    const last = yearEnd - 1
    told.push({ at: new Date(Math.min(now, last)).toISOString(), machine, ...happening })
  }
}

type Untold = MachineHappening extends infer One
  ? One extends MachineHappening
    ? Omit<One, 'at' | 'machine'>
    : never
  : never

/** Four machines that live at the edges of time. */
const edges: readonly MachineHappening[] = [
  // The leap day exactly.
  { at: '2028-02-28T23:59:59.000Z', machine: 'leap', what: 'created', size: 'large' },
  { at: '2028-02-29T00:00:00.000Z', machine: 'leap', what: 'running' },
  { at: '2028-03-01T00:00:00.000Z', machine: 'leap', what: 'stopped' },
  { at: '2028-03-01T00:00:00.000Z', machine: 'leap', what: 'deleted' },
  // Around the boundary of a period, with the second in which it lies cut in two.
  { at: '2028-02-29T12:00:00.001Z', machine: 'cut', what: 'created', size: 'small' },
  { at: '2028-02-29T12:59:59.001Z', machine: 'cut', what: 'running' },
  { at: '2028-02-29T12:59:59.999Z', machine: 'cut', what: 'served', bytes: 1_000_000_007 },
  { at: '2028-02-29T12:59:59.999Z', machine: 'cut', what: 'stopped' },
  { at: '2028-02-29T12:59:59.999Z', machine: 'cut', what: 'starting' },
  { at: '2028-02-29T13:00:00.000Z', machine: 'cut', what: 'running' },
  { at: '2028-02-29T13:00:00.000Z', machine: 'cut', what: 'served', bytes: 3_000_000_019 },
  { at: '2028-02-29T13:00:00.001Z', machine: 'cut', what: 'stopping' },
  { at: '2028-02-29T13:00:01.000Z', machine: 'cut', what: 'stopped' },
  { at: '2028-12-31T22:59:59.500Z', machine: 'cut', what: 'starting' },
  { at: '2028-12-31T23:59:59.500Z', machine: 'cut', what: 'running' },
  { at: '2028-12-31T23:59:59.999Z', machine: 'cut', what: 'served', bytes: 2 ** 40 },
  { at: '2029-01-01T00:00:00.400Z', machine: 'cut', what: 'deleted' },
  // It could not be created.
  { at: '2028-03-05T10:00:00.000Z', machine: 'none', what: 'created', size: 'large' },
  { at: '2028-03-05T10:02:00.000Z', machine: 'none', what: 'failed' },
  { at: '2028-03-09T10:02:00.000Z', machine: 'none', what: 'deleted' },
  // Its creation failed once, and then it lived for the whole year.
  { at: '2028-01-03T09:59:59.999Z', machine: 'all', what: 'created', size: 'standard' },
  { at: '2028-01-03T10:00:10.000Z', machine: 'all', what: 'failed' },
  { at: '2028-01-03T11:00:00.000Z', machine: 'all', what: 'starting' },
  { at: '2028-01-03T11:00:00.001Z', machine: 'all', what: 'running' },
  { at: '2029-01-31T23:59:59.999Z', machine: 'all', what: 'deleted' },
]
