import { withDesktop } from '../desktop.ts'
import { medianOf, type Sample } from '../measure.ts'
import { runRounds, time } from '../rounds.ts'
import { compareRounds, type Bench } from '../row.ts'

/** A click that names the screenshot before it, compared with one that names none. The window must receive both. */
export const bench: Bench = {
  name: 's29-guard',
  title: 'a click on what was seen',
  run: (context) =>
    withDesktop(context, 's29', async (desktop) => {
      const { api, plan, say } = context
      const at = { x: 600, y: 400 }
      const wanted = JSON.stringify(['press', 'release'].map((what) => [what, 1, at.x, at.y]))
      let frame = 0
      const click = async (isGuarded: boolean): Promise<Sample> => {
        frame += 1
        await desktop.ask({ do: 'show', frame })
        const shot = await api.ok<{ id: string }>(
          'GET',
          `/v1/machines/${desktop.id}/screenshot?format=jpeg&scale=0.1`,
        )
        await desktop.ask({ do: 'clicks' })
        const headers = isGuarded ? { 'x-if-screenshot': shot.id } : {}
        const { ms } = await time(() =>
          api.ok('POST', `/v1/machines/${desktop.id}/mouse/click`, { at }, headers),
        )
        const { clicks } = await desktop.ask<{ clicks: unknown }>({ do: 'clicks' })
        const seen = JSON.stringify(clicks)
        return { ms, wrong: seen === wanted ? undefined : `the window received ${seen}` }
      }
      const sides = { baseline: () => click(false), ours: () => click(true) }
      const rounds = await runRounds(sides, plan.fast, say)
      const more = rounds.map(({ ours, baseline }) => ours.ms - baseline.ms)
      return [
        compareRounds(rounds, {
          id: 'S29',
          ours: 'click with x-if-screenshot',
          baseline: 'click without',
          target: { ratio: 1.1 },
        }),
        {
          kind: 'figure',
          id: 'S29',
          what: 'what the comparison adds to a click, p50',
          value: medianOf(more),
          unit: 'ms',
          limit: 0.3,
        },
      ]
    }),
}
