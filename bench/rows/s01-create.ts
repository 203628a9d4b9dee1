import type { ApiClient } from '../../e2e/harness/api.ts'
import type { Sample } from '../measure.ts'
import { createMachine, deleteMachine, type Machine } from '../machine.ts'
import { openPool } from '../pool.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * The creation of a machine until its first command has answered, without a pool and with a machine that
 * waits. The command prints the hostname, which proves that it ran in that machine.
 */
export const bench: Bench = {
  name: 's01-create',
  title: 'create → first exec answers',
  async run(context) {
    await using pool = await openPool()
    const sides = {
      baseline: (round: number) => launch(context, `s01-${round}`),
      cold: async (round: number) => (await create(context.api, `s01-${round}`)).sample,
      warm: (round: number) => pool.take((api) => create(api, `s02-${round}`)),
    }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    const baseline = 'incus launch + exec'
    const cold = {
      id: 'S1',
      ours: 'create → exec',
      target: { ratio: 1.2, stretch: 0.9, p50Ms: 450 },
    }
    const warm = {
      id: 'S2',
      ours: 'create → exec, a machine waits',
      target: { ratio: 0.15, stretch: 0.08, p50Ms: 60 },
    }
    return [
      compareSides(rounds, { baseline: 'baseline', ours: 'cold' }, { ...cold, baseline }),
      compareSides(rounds, { baseline: 'baseline', ours: 'warm' }, { ...warm, baseline }),
      ...(await pool.figures('S2')),
    ]
  },
}

async function create(
  api: ApiClient,
  name: string,
): Promise<{ readonly sample: Sample; readonly machine: Machine }> {
  let machine: Machine | undefined
  try {
    const { ms, result } = await time(async () => {
      machine = await createMachine(api, name)
      const command = ['hostname']
      return api.ok<{ stdout: string }>('POST', `/v1/machines/${machine.id}/exec`, { command })
    })
    return { sample: { ms, wrong: checkName(result.stdout, machine!.name) }, machine: machine! }
  } finally {
    if (machine) await deleteMachine(api, machine.id)
  }
}

async function launch({ incus }: BenchContext, name: string): Promise<Sample> {
  const args = incus.launchArgs(incus.image, name)
  try {
    const { ms, result } = await time(async () => {
      await incus.run(...args)
      return incus.exec(name, 'hostname')
    })
    return { ms, wrong: checkName(result.toString('utf8'), name) }
  } finally {
    await incus.remove(name)
  }
}

function checkName(output: string, name: string): string | undefined {
  return output.trim() === name ? undefined : `the hostname is ${output.trim()}, not ${name}`
}
