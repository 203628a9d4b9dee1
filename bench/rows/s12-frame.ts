import { eventually } from '../../e2e/harness/polling.ts'
import { withPort } from '../baseline-port.ts'
import { pixelOf } from '../canvas.ts'
import { installPackages, withDesktop } from '../desktop.ts'
import { polling } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'
import { viewScreen, viewWebsockify, type Viewer } from '../viewer.ts'

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
      const { api, incus, plan, say } = context
      say('installing websockify')
      await installPackages(desktop.runAsRoot, 'websockify')
      await desktop.runAsRoot('sh', '-c', websockify)
      await eventually(
        'websockify listens',
        async () => {
          const listening = await desktop.runAsRoot('ss', '-Hltn', 'sport', '=', `:${port}`)
          return listening !== ''
        },
        polling,
      )
      await desktop.ask({ do: 'follow' })
      return withPort(incus, desktop.instance, port, async (hostPort) => {
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
        return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
      })
    }),
}

const port = 6080
const websockify = `runuser -u agent -- setsid websockify --daemon ${port} --unix-target=/run/xvnc/rfb.sock`
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

/** Presses at a point of which the probe's colour is unique. */
async function pressAt(viewer: Viewer, number: number): Promise<void> {
  const [x, y] = [330 + ((number * 97) % 620), 170 + ((number * 61) % 460)]
  viewer.pointer(x, y, 1)
  viewer.pointer(x, y, 0)
  await viewer.until(`the colour of a press at ${x}, ${y}`, () => {
    return viewer.pixel(watched.x, watched.y) === pixelOf(x, y)
  })
}
