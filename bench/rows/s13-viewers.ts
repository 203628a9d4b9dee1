import { eventually } from '../../e2e/harness/polling.ts'
import { readServerPid } from '../../e2e/harness/processes.ts'
import { withPort } from '../baseline-port.ts'
import { checkPixels, pixelOf } from '../canvas.ts'
import { installPackages, withDesktop, type BenchDesktop } from '../desktop.ts'
import { polling } from '../machine.ts'
import { medianOf, type Sample } from '../measure.ts'
import { findInit, listGuest, listTree, readAll, readCommand } from '../processes.ts'
import { compareSides, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds } from '../rounds.ts'
import { viewScreen, viewTcp, type Viewer, type ViewerOptions } from '../viewer.ts'

/**
 * The CPU time of the gateway, the agent and the X server while a window shows ten frames a second, with
 * ten viewers compared with one (of x11vnc and the X server for the baseline). And the time between frames
 * of a viewer while another viewer is too slow.
 */
export const bench: Bench = {
  name: 's13-viewers',
  title: 'ten viewers',
  run: (context) =>
    withDesktop(context, 's13', async (desktop) => {
      const { api, incus, say } = context
      say('installing x11vnc')
      await installPackages(desktop.runAsRoot, 'x11vnc')
      await desktop.runAsRoot('sh', '-c', x11vnc)
      const { project, name } = desktop.instance
      const guest = async () => listGuest(await findInit(incus, project, name))
      const isUp = async () => (await guest()).some((pid) => isCommand(pid, 'x11vnc'))
      await eventually('x11vnc runs', isUp, polling)
      const pids = await guest()
      const of = (command: string) =>
        pids.filter((pid) => isCommand(pid, command)).flatMap(listTree)
      const display = of('Xvnc')
      const gateway = listTree(readServerPid(context.dataDir, 'gateway'))
      const ours: Server = {
        pids: [...gateway, ...of('agent.mjs'), ...display],
        view: (options) => viewScreen(api, desktop.id, options),
      }
      return withPort(incus, desktop.instance, port, async (hostPort) => {
        const baseline: Server = {
          pids: [...of('x11vnc'), ...display],
          view: (options) => viewTcp(hostPort, options),
        }
        const stage = openStage(context, desktop)
        return [
          ...(await measureCpu(context, stage, ours, baseline)),
          await measureSlow(context, stage, ours),
        ]
      })
    }),
}

const port = 5900
const x11vnc = 'runuser -u agent -- setsid x11vnc -display :0 -shared -forever -bg -quiet -nopw'
const framesPerSecond = 10
const sides = { baseline: 'one', ours: 'ten' } as const

/** A server of screens, and the processes whose CPU time counts. */
type Server = {
  readonly pids: readonly number[]
  view(options?: ViewerOptions): Promise<Viewer>
}

type Played = {
  readonly ms: number
  readonly cpuMs: number
  /** The numbers of the frames. */
  readonly frames: readonly number[]
  readonly wrong: string | undefined
}

/** The window that shows frames. */
type Stage = {
  /** Plays frames until all viewers show the last one. */
  play(server: Server, viewers: readonly Viewer[]): Promise<Played>
}

function openStage({ plan }: BenchContext, desktop: BenchDesktop): Stage {
  const count = Math.ceil((plan.restMs / 5_000) * framesPerSecond)
  let next = 1
  const shows = (frame: number) => (viewer: Viewer) => checkPixels(viewer, frame) === undefined
  return {
    async play(server, viewers) {
      const first = next
      next += count + 1
      await desktop.ask({ do: 'show', frame: first })
      await Promise.all(viewers.map((one) => one.until('the first frame', shows(first))))
      const before = readAll(server.pids).cpuTicks
      const options = { first: first + 1, frames: count, perSecond: framesPerSecond }
      const { ms } = await desktop.ask<{ ms: number }>({ do: 'play', ...options })
      await Promise.all(viewers.map((one) => one.until('the last frame', shows(first + count))))
      const cpuMs = (readAll(server.pids).cpuTicks - before) * 10
      const differs = (one: Viewer) => !one.rgb.equals(viewers[0]!.rgb)
      const frames = Array.from({ length: count }, (_, index) => first + 1 + index)
      return { ms, cpuMs, frames, wrong: viewers.some(differs) ? 'the viewers differ' : undefined }
    },
  }
}

async function measureCpu(
  { plan, say }: BenchContext,
  stage: Stage,
  ours: Server,
  baseline: Server,
): Promise<Row[]> {
  const side = (server: Server, count: number) => async (): Promise<Sample> => {
    await using stack = new AsyncDisposableStack()
    const opened = await Promise.all(Array.from({ length: count }, () => server.view()))
    const viewers = opened.map((viewer) => stack.use(viewer))
    const { cpuMs, wrong } = await stage.play(server, viewers)
    return { ms: cpuMs, wrong }
  }
  const rounds = await runRounds(
    {
      baselineOne: side(baseline, 1),
      one: side(ours, 1),
      ten: side(ours, 10),
      baselineTen: side(baseline, 10),
    },
    { ...plan.slow, rounds: Math.min(10, plan.slow.rounds), warmups: 1 },
    say,
  )
  const row = { id: 'S13', ours: 'CPU of 10 viewers' }
  const growth = medianOf(
    rounds.map((round) => round.baselineTen.ms / round.baselineOne.ms).filter(Number.isFinite),
  )
  const note = `with x11vnc -shared 10 viewers cost ${growth.toFixed(2)} times what one costs`
  return [
    compareSides(rounds, sides, { ...row, baseline: '1 viewer', target: { ratio: 1.5 }, note }),
    compareSides(
      rounds,
      { baseline: 'baselineTen', ours: 'ten' },
      { ...row, baseline: 'x11vnc -shared, 10 viewers', target: { ratio: 1 } },
    ),
  ]
}

/** A frame of raw pixels has 1.2 MB, so the slow viewer is busy with its first one all the time. */
async function measureSlow({ plan, say }: BenchContext, stage: Stage, ours: Server): Promise<Row> {
  const side = (isBesideSlow: boolean) => async (): Promise<Sample> => {
    await using stack = new AsyncDisposableStack()
    if (isBesideSlow) stack.use(await ours.view({ isRaw: true, bytesPerSecond: 64 * 1024 }))
    const viewer = stack.use(await ours.view())
    const seen = new Set<number>()
    viewer.onUpdate = () => void seen.add(viewer.pixel(340, 180))
    const { ms, wrong, frames } = await stage.play(ours, [viewer])
    const shown = frames.filter((frame) => seen.has(pixelOf(frame, 0)))
    return { ms: ms / shown.length, wrong }
  }
  const rounds = await runRounds(
    { alone: side(false), beside: side(true) },
    { ...plan.slow, rounds: Math.min(10, plan.slow.rounds), warmups: 1 },
    say,
  )
  return compareSides(
    rounds,
    { baseline: 'alone', ours: 'beside' },
    {
      id: 'S13',
      ours: 'time between frames beside a viewer at 64 KB/s',
      baseline: 'without that viewer',
      target: { ratio: 1.05 },
    },
  )
}

function isCommand(pid: number, name: string): boolean {
  return readCommand(pid)
    .split(' ')
    .slice(0, 4)
    .some((word) => word.split('/').at(-1) === name)
}
