import { pixelOf } from '../canvas.ts'
import { withDesktop } from '../desktop.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'
import { viewScreen, viewWebsockify, type Viewer } from '../viewer.ts'
import { withWebsockify } from '../websockify.ts'

/**
 * A mouse press sent by a viewer until that viewer receives the pixel that it changes. The baseline is the
 * X server's own RFB behind websockify in the same machine. Both use Tight, and only one is connected at a
 * time.
 */
export const bench: Bench = {
  name: 's12-frame',
  title: 'input to frame',
  run: (context) =>
    withDesktop(context, 's12', async (desktop) => {
      const { api, plan, say } = context
      await desktop.ask({ do: 'follow' })
      return withWebsockify(context, desktop, async (hostPort) => {
        const { lease } = desktop
        const sides = {
          baseline: async (round: number) => press(await viewWebsockify(hostPort), 2 * round),
          ours: async (round: number) =>
            press(await viewScreen(api, desktop.id, { lease }), 2 * round + 1),
        }
        const rounds = await runRounds(sides, plan.fast, say)
        const row = {
          id: 'S12',
          ours: 'press → changed frame',
          baseline: 'Xvnc + websockify',
          target: { ratio: 1, stretch: 0.5, p50Ms: 35 },
        }
        return [compareRounds(rounds, row)]
      })
    }),
}

/** The centre of the probe's response to a press. */
const watched = { x: 640, y: 400 }

/** The second press counts; the first one warms up the connection. */
async function press(open: Viewer, round: number): Promise<Sample> {
  using viewer = open
  await viewer.until('the handshake', () => viewer.pixel(watched.x, watched.y) >= 0)
  await pressAt(viewer, 2 * round)
  const { ms } = await time(() => pressAt(viewer, 2 * round + 1))
  return { ms }
}

/** Presses at a point and waits for the colour that the probe shows only for that point. */
async function pressAt(viewer: Viewer, number: number): Promise<void> {
  const [x, y] = [330 + ((number * 97) % 620), 170 + ((number * 61) % 460)]
  viewer.pointer(x, y, 1)
  viewer.pointer(x, y, 0)
  await viewer.until(`the colour of a press at ${x}, ${y}`, () => {
    return viewer.pixel(watched.x, watched.y) === pixelOf(x, y)
  })
}
