import type { Sample } from '../measure.ts'
import { createMachine, deleteMachine, type Machine } from '../machine.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * The creation of a machine until its first command has answered, without a pool. The command prints the
 * hostname, which proves that it ran in that machine.
 */
export const bench: Bench = {
  name: 's01-create',
  title: 'create → first exec answers',
  async run(context) {
    const sides = {
      baseline: (round: number) => launch(context, `s01-${round}`),
      ours: (round: number) => create(context, `s01-${round}`),
    }
    const target = { ratio: 1.2, stretch: 0.9, p50Ms: 700 }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    const row = { id: 'S1', ours: 'create → exec', baseline: 'incus launch + exec', target }
    return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
  },
}

async function create({ api }: BenchContext, name: string): Promise<Sample> {
  let machine: Machine | undefined
  try {
    const { ms, result } = await time(async () => {
      machine = await createMachine(api, name)
      const command = ['hostname']
      return api.ok<{ stdout: string }>('POST', `/v1/machines/${machine.id}/exec`, { command })
    })
    return { ms, wrong: checkName(result.stdout, machine!.name) }
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
