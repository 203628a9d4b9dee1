import { withDesktop } from '../desktop.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** Moves the pointer to a point and clicks. The window under the point must receive exactly that. */
export const bench: Bench = {
  name: 's10-click',
  title: 'move and click',
  run: (context) =>
    withDesktop(context, 's10', async (desktop) => {
      const { api, plan, say } = context
      await desktop.ask({ do: 'show', frame: 1 })
      const check = async (x: number, y: number): Promise<string | undefined> => {
        const { clicks } = await desktop.ask<{ clicks: unknown }>({ do: 'clicks' })
        const wanted = JSON.stringify([
          ['press', 1, x, y],
          ['release', 1, x, y],
        ])
        const seen = JSON.stringify(clicks)
        return seen === wanted ? undefined : `the window received ${seen} instead of ${wanted}`
      }
      await desktop.ask({ do: 'clicks' })

      const baseline = async (round: number): Promise<Sample> => {
        const { x, y } = pointOf(2 * round)
        const argv = ['xdotool', 'mousemove', String(x), String(y), 'click', '1']
        return { ms: await desktop.runInside(...argv), wrong: await check(x, y) }
      }
      const ours = async (round: number): Promise<Sample> => {
        const at = pointOf(2 * round + 1)
        const { ms } = await time(() =>
          api.ok('POST', `/v1/machines/${desktop.id}/mouse/click`, { at }),
        )
        return { ms, wrong: await check(at.x, at.y) }
      }
      const target = { ratio: 0.03, p50Ms: 2 }
      const rounds = await runRounds({ baseline, ours }, plan.fast, say)
      const row = {
        id: 'S10',
        ours: 'move + click over HTTP',
        baseline: 'xdotool process inside',
        target,
      }
      return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
    }),
}

/** Points all over the window, consecutive ones always different. */
function pointOf(round: number): { readonly x: number; readonly y: number } {
  return { x: 330 + ((round * 97) % 620), y: 170 + ((round * 61) % 460) }
}
