import { createMachine, deleteMachine, polling } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench, type BenchContext, type ComparedRow } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * Many creations at once, without a pool. S3: ten, until each has answered a command. S3b: twenty, until
 * half of them have, and until each has its desktop. The client of the engine launches two at a time, as
 * many as the host has processors; more at once take it longer.
 */
export const bench: Bench = {
  name: 's03-many-creates',
  title: 'many creates at once',
  async run(context) {
    const rows: ComparedRow[] = []
    for (const { id, count, until, target, what } of cases) {
      const sides = {
        baseline: (round: number) => launchMany(context, `${id}-${round}`, count, until),
        ours: (round: number) => createMany(context, `${id}-${round}`, count, until),
      }
      const rounds = await runRounds(sides, context.plan.slow, context.say)
      const ours = `${count} creates → ${what}`
      const baseline = `incus launch × ${count} → the same`
      rows.push(compareRounds(rounds, { id: id.toUpperCase(), ours, baseline, target }))
    }
    return rows
  },
}

type Until = { readonly share: number; readonly desktop: boolean }

const cases = [
  {
    id: 's3',
    count: 10,
    until: { share: 1, desktop: false },
    what: 'all answer',
    target: { ratio: 0.8 },
  },
  {
    id: 's3b',
    count: 20,
    until: { share: 0.5, desktop: false },
    what: 'half answer',
    target: { ratio: 0.9 },
  },
  {
    id: 's3b',
    count: 20,
    until: { share: 1, desktop: true },
    what: 'all desktops',
    target: { ratio: 0.9 },
  },
] as const

const launchedAtOnce = 2
const command = ['hostname']

async function createMany(
  { api }: BenchContext,
  name: string,
  count: number,
  until: Until,
): Promise<Sample> {
  const made: string[] = []
  try {
    return await timeUntil(until, count, async (index) => {
      const machine = await createMachine(api, `${name}-${index}`)
      made.push(machine.id)
      const { stdout } = await api.ok<{ stdout: string }>(
        'POST',
        `/v1/machines/${machine.id}/exec`,
        { command },
      )
      if (until.desktop) await api.waitForDesktop(machine.id, polling)
      return stdout.trim() === machine.name
    })
  } finally {
    await Promise.all(made.map((id) => deleteMachine(api, id)))
  }
}

async function launchMany(
  { incus }: BenchContext,
  name: string,
  count: number,
  until: Until,
): Promise<Sample> {
  const names = Array.from({ length: count }, (_, index) => `${name}-${index}`)
  const waiting = [...names]
  const launched = new Map(names.map((one) => [one, Promise.withResolvers<void>()]))
  const launch = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await incus.run(...incus.launchArgs(incus.image, next))
      launched.get(next)!.resolve()
    }
  }
  try {
    const launching = Promise.all(Array.from({ length: launchedAtOnce }, launch))
    const sample = await timeUntil(until, count, async (index) => {
      const one = names[index]!
      await Promise.race([launched.get(one)!.promise, launching])
      const output = await incus.exec(one, ...command)
      if (until.desktop) {
        const isUp = 'until xdpyinfo -display :0; do sleep 0.1; done >/dev/null 2>&1'
        await incus.exec(one, 'sh', '-c', isUp)
      }
      return output.toString('utf8').trim() === one
    })
    await launching
    return sample
  } finally {
    await Promise.all(names.map((one) => incus.remove(one).catch(() => {})))
  }
}

/** Begins all at once. The time until that share of them is done; the others are waited for as well. */
async function timeUntil(
  { share }: Until,
  count: number,
  make: (index: number) => Promise<boolean>,
): Promise<Sample> {
  const wanted = Math.ceil(count * share)
  const enough = Promise.withResolvers<void>()
  let done = 0
  const all = Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const isRight = await make(index)
      done += 1
      if (done === wanted) enough.resolve()
      return isRight
    }),
  )
  const { ms } = await time(() => Promise.race([enough.promise, all]))
  const wrong = (await all).filter((isRight) => !isRight).length
  return { ms, ...(wrong > 0 && { wrong: `${wrong} of ${count} are not the machines asked for` }) }
}
