import type { Sample } from '../measure.ts'
import { withMachine } from '../machine.ts'
import { compareSides, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** A command in a running machine: `true` and `false` alternately, so that the exit code is verified. */
export const bench: Bench = {
  name: 's14-exec',
  title: 'exec true',
  run: (context) =>
    withMachine(context.api, 's14', async ({ id }) => {
      const { api, incus, plan, say } = context
      const { project, name } = await incus.instanceOf(id)

      const ours = async (round: number): Promise<Sample> => {
        const { command, exitCode } = commandOf(round)
        const { ms, result } = await time(() =>
          api.ok<{ exit_code: number }>('POST', `/v1/machines/${id}/exec`, {
            command: [command],
          }),
        )
        return { ms, wrong: check(result.exit_code, exitCode) }
      }
      const baseline = async (round: number): Promise<Sample> => {
        const { command, exitCode } = commandOf(round)
        const run = () => incus.run('exec', '--project', project, name, '--', command)
        const { ms, result } = await time(() =>
          run().then(
            () => 0,
            () => 1,
          ),
        )
        return { ms, wrong: check(result, exitCode) }
      }

      const target = { ratio: 0.1, p50Ms: 5 }
      const rounds = await runRounds({ baseline, ours }, plan.fast, say)
      const row = { id: 'S14', ours: 'exec over HTTP', baseline: 'incus exec', target }
      return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
    }),
}

function commandOf(round: number) {
  return round % 2 === 0
    ? ({ command: 'true', exitCode: 0 } as const)
    : ({ command: 'false', exitCode: 1 } as const)
}

function check(code: number, expected: number): string | undefined {
  return code === expected ? undefined : `exit code ${code} instead of ${expected}`
}
