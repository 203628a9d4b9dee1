import { MachineSize } from '@computer/contract'
import fc from 'fast-check'

/*
 * What can happen to an organization's billing. Machines, plans and flushes are chosen by numbers, which the
 * stage takes modulo what there is, so that every list of steps can be played.
 */

const machine = fc.nat({ max: 1 })
const minutes = (most: number) => fc.integer({ min: 0, max: most * 60_000 })
const days = (most: number) => fc.integer({ min: 0, max: most * 86_400_000 })

/** The clock of the database goes on, is set back, or differs between two hosts. */
const time = {
  wait: fc.record({ kind: fc.constant('wait'), ms: fc.oneof(minutes(90), days(3), days(45)) }),
  /** To about the end of the open period. */
  edge: fc.record({
    kind: fc.constant('edge'),
    ms: fc.integer({ min: -90 * 60_000, max: 90 * 60_000 }),
  }),
  back: fc.record({ kind: fc.constant('back'), ms: fc.oneof(minutes(90), days(80)) }),
  skew: fc.record({ kind: fc.constant('skew'), ms: fc.oneof(minutes(30), days(2)) }),
}

const move = fc.record({ kind: fc.constant('move'), machine, choice: fc.nat({ max: 5 }) })
const use = {
  move,
  resize: fc.record({
    kind: fc.constant('resize'),
    machine,
    size: fc.constantFrom(...MachineSize.options),
  }),
  capture: fc.record({
    kind: fc.constant('capture'),
    machine,
    bytes: fc.nat({ max: 2 ** 31 - 1 }),
  }),
  release: fc.record({ kind: fc.constant('release') }),
  /** A batch of a gateway; a repeated one has an id that was used before. */
  flush: fc.record({
    kind: fc.constant('flush'),
    machine,
    bytes: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    repeats: fc.option(fc.nat({ max: 9 }), { nil: null, freq: 3 }),
  }),
  compact: fc.record({ kind: fc.constant('compact') }),
}

const operator = {
  plan: fc.record({
    kind: fc.constant('plan'),
    plan: fc.nat({ max: 4 }),
    immediate: fc.boolean(),
    hours: fc.option(fc.nat({ max: 3_000 }), { nil: null }),
  }),
  catalog: fc.record({
    kind: fc.constant('catalog'),
    cents: fc.nat({ max: 1_000 }),
    delayMs: days(50),
    /** A plan that the version lacks. */
    drops: fc.option(fc.nat({ max: 4 }), { nil: null }),
  }),
}

const roll = fc.record({ kind: fc.constant('roll') })
const close = fc.record({ kind: fc.constant('close') })
const simple = fc.oneof(move, use.flush, roll, close, use.release, use.capture)

/** Several at the same time. */
const together = fc.record({
  kind: fc.constant('together'),
  steps: fc.array(simple, { minLength: 2, maxLength: 4 }),
})

type Weighted = { weight: number; arbitrary: fc.Arbitrary<Step> }
const weigh = (weight: number, arbitrary: fc.Arbitrary<Step>): Weighted => ({ weight, arbitrary })

type Of<T> = T extends fc.Arbitrary<infer V> ? V : never
type Kind<T extends object> = Of<T[keyof T]>
export type Step =
  | Kind<typeof time>
  | Kind<typeof use>
  | Kind<typeof operator>
  | Of<typeof roll>
  | Of<typeof close>
  | Of<typeof together>

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    weigh(4, time.wait),
    weigh(4, time.edge),
    weigh(2, time.back),
    weigh(2, time.skew),
    weigh(8, move),
    weigh(1, use.resize),
    weigh(2, use.capture),
    weigh(2, use.release),
    weigh(3, use.flush),
    weigh(1, use.compact),
    weigh(2, operator.plan),
    weigh(1, operator.catalog),
    weigh(3, roll),
    weigh(3, close),
    weigh(2, together),
  ),
  { minLength: 1, maxLength: 10 },
)
