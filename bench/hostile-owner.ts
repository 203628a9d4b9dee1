import { once } from 'node:events'
import { createRandom } from '../e2e/harness/random.ts'
import {
  callHostile,
  type Origins,
  type Outcome,
  type Target,
} from '../server/test/hostile/calls.ts'

/*
 * The owner of a machine with a hostile agent, in a process of its own: calls it in every way, ten calls
 * at once, until it is told to end. Then it reports how the calls ended.
 */
const callsAtOnce = 10

const [{ origins, target }] = (await once(process, 'message')) as [
  { readonly origins: Origins; readonly target: Target },
]
const outcomes = new Map<Outcome, number>()
let isOver = false
process.once('message', () => (isOver = true))
await Promise.all(Array.from({ length: callsAtOnce }, (_, lane) => play(lane)))
process.send!([...outcomes])
process.disconnect()

async function play(lane: number): Promise<void> {
  const random = createRandom(lane)
  for (let count = 0; !isOver; count++) {
    const outcome = await callHostile(origins, target, random.fork(String(count)))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
}
