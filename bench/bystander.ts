import { setTimeout as delay } from 'node:timers/promises'
import { readServerPid } from '../e2e/harness/processes.ts'
import { shell } from './machine.ts'
import { distribution, quantile } from './measure.ts'
import { time } from './rounds.ts'
import type { BenchContext, FigureRow } from './row.ts'

/* Calls of others: of those who use another machine than the one that is up to something. */

/** Milliseconds of each call. */
type Times = Readonly<Record<'screenshots' | 'reads' | 'commands', number[]>>

export const serverProcesses = ['api', 'gateway', 'worker', 'postgres', 'engine']
/** The rate of the calls, which are steady so that slow ones do not hide what slows them. */
const everyMs = 25

/** How many times quiet and attacked calls take turns, so that neither has the quieter host. */
const turns = 3

/**
 * Makes the calls in turns: without the attack, and while it goes on. `attack` does its work while another
 * attacks.
 */
export async function compareInTurns(
  context: BenchContext,
  id: string,
  attack: (work: () => Promise<void>) => Promise<void>,
): Promise<{ readonly quiet: Times; readonly attacked: Times; readonly attackedMs: number }> {
  const [quiet, attacked] = [noTimes(), noTimes()]
  let attackedMs = 0
  for (let turn = 0; turn < turns; turn++) {
    await useMachine(context, id, quiet)
    await attack(async () => {
      const { ms } = await time(() => useMachine(context, id, attacked))
      attackedMs += ms
    })
  }
  return { quiet, attacked, attackedMs }
}

function noTimes(): Times {
  return { screenshots: [], reads: [], commands: [] }
}

async function useMachine({ api, plan }: BenchContext, id: string, times: Times): Promise<void> {
  const path = `/v1/machines/${id}`
  for (let round = 0; round < plan.fast.rounds / turns; round++) {
    const next = delay(everyMs)
    const shot = await time(() => takeJpeg(api, path))
    if (shot.result.status !== 200 || shot.result.bytes.readUInt16BE() !== 0xffd8) {
      throw new Error(`a screenshot failed with ${shot.result.status}`)
    }
    const read = await time(() => api.ok<{ id: string }>('GET', path))
    if (read.result.id !== id) throw new Error('another machine was read')
    const command = await time(() => api.run(id, ['echo', String(round)]))
    if (command.result !== `${round}\n`) throw new Error(`echo printed ${command.result}`)
    times.screenshots.push(shot.ms)
    times.reads.push(read.ms)
    times.commands.push(command.ms)
    await next
  }
}

function takeJpeg(api: BenchContext['api'], path: string) {
  return api.call('GET', `${path}/screenshot?format=jpeg`, undefined, { accept: 'image/jpeg' })
}

/** Changes when a process of the server, or the agent of the machine, is another one. */
export async function whoLives({ api, dataDir }: BenchContext, id: string): Promise<string> {
  const pids = serverProcesses.map((name) => readServerPid(dataDir, name))
  // The agent is the parent, and this is when it started.
  return JSON.stringify([pids, await shell(api, id, 'cut -d" " -f22 /proc/$PPID/stat')])
}

/** The p95 of screenshots and commands and the p99 of reads, as ratios to what they were before. */
export function compareTimes(
  id: string,
  attack: string,
  before: Times,
  meanwhile: Times,
): FigureRow[] {
  const compare = (kind: keyof Times, percentile: number, limit: number): FigureRow => {
    const [usual, attacked] = [before[kind], meanwhile[kind]].map((values) => ({
      p50: distribution(values).p50,
      high: quantile(
        values.toSorted((a, b) => a - b),
        percentile / 100,
      ),
    })) as [Percentiles, Percentiles]
    const p50 = `p50 ${usual.p50.toFixed(1)} → ${attacked.p50.toFixed(1)}`
    const high = `p${percentile} ${usual.high.toFixed(1)} → ${attacked.high.toFixed(1)} ms`
    const what = `${attack}: ${kind}, ${p50}, ${high}`
    return { kind: 'figure', id, what, value: attacked.high / usual.high, unit: '×', limit }
  }
  return [compare('screenshots', 95, 2), compare('commands', 95, 2), compare('reads', 99, 1.5)]
}

type Percentiles = { readonly p50: number; readonly high: number }
