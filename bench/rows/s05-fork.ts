import { forkAndRun, withBoth, type Baseline } from '../disks.ts'
import { startHeartbeat } from '../heartbeat.ts'
import { deleteMachine, shell, withMachine, type Machine } from '../machine.ts'
import { distribution, type Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A fork of a running machine until its first command has answered. The command prints a file that was
 * written just before. A file that the source writes later must not be in the fork.
 */
export const bench: Bench = {
  name: 's05-fork',
  title: 'fork → exec in the fork',
  run: async (context) => [
    ...(await compareForks(context)),
    await compareSizes(context, { smallMb: 400, largeMb: 4_000 }),
  ],
}

const readFiles = 'cat marker; cat later 2>/dev/null || true'

async function compareForks(context: BenchContext): Promise<Row[]> {
  return withBoth(context, 's05', async (machine, baseline) => {
    const heartbeat = await startHeartbeat(context.api, machine.id)
    const pausesMs: number[] = []
    const sides = {
      baseline: (round: number) => copy(baseline, round),
      async ours(round: number) {
        await heartbeat.longestMs()
        const sample = await fork(context, machine, round)
        pausesMs.push(await heartbeat.longestMs())
        return sample
      },
    }
    const target = { ratio: 1.2, stretch: 0.9 }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    await heartbeat.stop()
    const row = { id: 'S5', ours: 'fork → exec', baseline: 'incus snapshot + copy + start', target }
    const pause = { id: 'S5', what: 'pause of the source, p95', unit: 'ms', limit: 100 } as const
    return [
      compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row),
      { kind: 'figure', ...pause, value: distribution(pausesMs).p95 },
    ]
  })
}

async function fork({ api }: BenchContext, { id }: Machine, round: number): Promise<Sample> {
  await shell(api, id, `rm -f later; echo before-${round} > marker`)
  const { ms, result } = await time(() => forkAndRun(api, id, 'cat marker'))
  try {
    await shell(api, id, 'echo after > later')
    return { ms, wrong: check(await shell(api, result.id, readFiles), round) }
  } finally {
    await deleteMachine(api, result.id)
  }
}

async function copy({ name, run, shell: inside }: Baseline, round: number): Promise<Sample> {
  const [copied, snapshot] = [`${name}-${round}`, `s${round}`]
  await inside(`rm -f later; echo before-${round} > marker`)
  try {
    const { ms } = await time(async () => {
      await run('snapshot', 'create', name, snapshot)
      await run('copy', `${name}/${snapshot}`, copied)
      await run('start', copied)
      await inside('cat marker', copied)
    })
    await inside('echo after > later')
    return { ms, wrong: check(await inside(readFiles, copied), round) }
  } finally {
    await run('delete', '--force', copied)
    await run('snapshot', 'delete', name, snapshot)
  }
}

function check(output: string, round: number): string | undefined {
  return output === `before-${round}\n` ? undefined : `the fork has ${JSON.stringify(output)}`
}

/** Compares forks of a machine that uses much of its disk with one that uses little. */
async function compareSizes(
  context: BenchContext,
  { smallMb, largeMb }: { readonly smallMb: number; readonly largeMb: number },
): Promise<Row> {
  const { api, plan, say } = context
  return withMachine(api, 's05-small', async (small) =>
    withMachine(api, 's05-large', async (large) => {
      say('filling the disks')
      await fill(context, small, smallMb)
      await fill(context, large, largeMb)
      const sides = {
        small: (round: number) => fork(context, small, round),
        large: (round: number) => fork(context, large, round),
      }
      const rounds = await runRounds(sides, plan.slow, say)
      return compareSides(
        rounds,
        { baseline: 'small', ours: 'large' },
        {
          id: 'S5',
          ours: `fork with ${largeMb / 1000} GB used`,
          baseline: `fork with ${smallMb / 1000} GB used`,
          target: { ratio: 1.2 },
        },
      )
    }),
  )
}

async function fill({ api }: BenchContext, { id }: Machine, mb: number): Promise<void> {
  const files = mb / 100
  const script = `for i in $(seq ${files}); do head -c 100M /dev/urandom > fill-$i; done; sync`
  await shell(api, id, script)
}
