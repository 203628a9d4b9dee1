import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../e2e/harness/polling.ts'
import { countChanged, type Area } from '../canvas.ts'
import { createMachine, deleteMachine, polling, withMachine, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { findInit, listGuest, readCommand, readGuestCpuMs } from '../processes.ts'
import { compareRounds, type Bench, type BenchContext } from '../row.ts'
import { runRounds } from '../rounds.ts'

/** The whole screen but the clock. */
const compared: readonly Area[] = [
  { left: 0, top: 0, width: 1280, height: 760 },
  { left: 0, top: 760, width: 1130, height: 40 },
]
const lastPrograms = ['xfce4-panel', 'xfdesktop']
/** A machine rests when all that it contains has used less than this in that time. */
const rest = { cpuMs: 10, ms: 2000 }

/**
 * The processor time of all of a machine, from its creation until its desktop rests; "ms" are of a processor. At
 * that moment the screen must be the one of a machine that has rested for long.
 */
export const bench: Bench = {
  name: 's23-boot-cpu',
  title: 'CPU from create until the desktop rests',
  async run(context) {
    const expected = await takeExpected(context)
    const sides = {
      baseline: (round: number) => launch(context, `s23-${round}`, expected),
      ours: (round: number) => create(context, `s23-${round}`, expected),
    }
    const target = { ratio: 1.1, p50Ms: 1800 }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    const row = {
      id: 'S23',
      ours: 'CPU: create → rest',
      baseline: 'CPU: incus launch → rest',
      target,
    }
    return [compareRounds(rounds, row)]
  },
}

async function create(context: BenchContext, name: string, expected: Buffer): Promise<Sample> {
  const { api, incus } = context
  let machine: Machine | undefined
  try {
    machine = await createMachine(api, name)
    const instance = await incus.instanceOf(machine.id)
    const ms = await readCpuAtRest(await findInit(incus, instance.project, instance.name))
    return { ms, wrong: await compareScreens(await takeScreenshot(context, machine.id), expected) }
  } finally {
    if (machine) await deleteMachine(api, machine.id)
  }
}

async function launch({ incus }: BenchContext, name: string, expected: Buffer): Promise<Sample> {
  try {
    await incus.run(...incus.launchArgs(incus.image, name))
    const ms = await readCpuAtRest(await findInit(incus, incus.project, name))
    const grab = ['-f', 'x11grab', '-draw_mouse', '0', '-video_size', '1280x800', '-i', ':0']
    const output = ['-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', '-']
    const screen = await incus.exec(name, 'ffmpeg', '-loglevel', 'error', ...grab, ...output)
    return { ms, wrong: await compareScreens(screen, expected) }
  } finally {
    await incus.remove(name)
  }
}

/** The screen of a machine whose desktop has been up for ten seconds more than it takes to rest. */
function takeExpected(context: BenchContext): Promise<Buffer> {
  const { api, incus, say } = context
  say('waiting for a desktop to compare with')
  return withMachine(api, 's23', async ({ id }) => {
    const { project, name } = await incus.instanceOf(id)
    await readCpuAtRest(await findInit(incus, project, name))
    await delay(10_000)
    return takeScreenshot(context, id)
  })
}

async function takeScreenshot({ api }: BenchContext, id: string): Promise<Buffer> {
  const headers = { accept: 'image/png' }
  return (await api.call('GET', `/v1/machines/${id}/screenshot`, undefined, headers)).bytes
}

/** The processor time of the machine since its creation, read when it rests. */
async function readCpuAtRest(initPid: number): Promise<number> {
  const isUp = async () => {
    const commands = listGuest(initPid).map(readCommand)
    return lastPrograms.every((program) => commands.some((one) => one.startsWith(program)))
  }
  await eventually('the panel and the backdrop run', isUp, polling)
  let used = readGuestCpuMs(initPid)
  const rests = async () => {
    const before = used
    await delay(rest.ms)
    used = readGuestCpuMs(initPid)
    return used - before < rest.cpuMs
  }
  await eventually('the desktop rests', rests, polling)
  return used
}

async function compareScreens(screen: Buffer, expected: Buffer): Promise<string | undefined> {
  let changed = 0
  for (const area of compared) changed += await countChanged(screen, expected, area)
  return changed === 0 ? undefined : `${changed} pixels are not those of a machine at rest`
}
