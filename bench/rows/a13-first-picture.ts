import { checkPixels } from '../canvas.ts'
import { withDesktop, type BenchDesktop } from '../desktop.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'
import { viewScreen, viewWebsockify, type Viewer } from '../viewer.ts'
import { withWebsockify } from '../websockify.ts'

/** No viewer may wait longer for its first picture of a display that is up. */
const limitMs = 300

/**
 * The time from opening a screen's socket to its first whole picture, with an idle machine, and with one
 * whose programs take all of its processors. The baseline is the X server's own RFB behind websockify.
 */
export const bench: Bench = {
  name: 'a13-first-picture',
  title: 'first picture of a screen',
  run: (context) =>
    withDesktop(context, 'a13', (desktop) =>
      withWebsockify(context, desktop, async (hostPort) => {
        const idle = await measure(context, desktop, hostPort, 'idle')
        await desktop.runAsRoot('sh', '-c', busyLoops)
        try {
          return [...idle, ...(await measure(context, desktop, hostPort, 'busy'))]
        } finally {
          await desktop.runAsRoot('pkill', 'yes')
        }
      }),
    ),
}

const busyLoops = 'for _ in 1 2; do setsid yes >/dev/null 2>&1 </dev/null & done'

let frame = 0

async function measure(
  { api, plan, say }: BenchContext,
  desktop: BenchDesktop,
  hostPort: number,
  state: string,
): Promise<Row[]> {
  const look = async (open: () => Promise<Viewer>): Promise<Sample> => {
    const shown = ++frame
    await desktop.ask({ do: 'show', frame: shown })
    const { ms, result } = await time(async () => {
      const viewer = await open()
      await viewer.until('the first picture', () => checkPixels(viewer, shown) === undefined)
      return viewer
    })
    result[Symbol.dispose]()
    return { ms }
  }
  const sides = {
    baseline: () => look(() => viewWebsockify(hostPort)),
    ours: () => look(() => viewScreen(api, desktop.id)),
  }
  const rounds = await runRounds(sides, plan.fast, (progress) => say(`${state}: ${progress}`))
  const times = rounds.map(({ ours }) => ours.ms).filter((ms) => !Number.isNaN(ms))
  const row = compareRounds(rounds, {
    id: 'A13',
    ours: `first picture, ${state} machine`,
    baseline: 'Xvnc + websockify',
    target: { ratio: 1.5 },
  })
  const what = `longest wait of ${times.length} for a first picture, ${state} machine`
  const value = Math.max(...times)
  return [row, { kind: 'figure', id: 'A13', what, value, unit: 'ms', limit: limitMs }]
}
