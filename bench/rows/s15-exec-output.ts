import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readServerPid } from '../../e2e/harness/processes.ts'
import { findInit, listGuest, readAll, readCommand } from '../processes.ts'
import { incusPath } from '../incus.ts'
import { withMachine } from '../machine.ts'
import { medianOf, type Sample } from '../measure.ts'
import { compareSides, type Bench, type FigureRow } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A command that writes a gigabyte. Ours returns the end of it, marked as truncated; the baseline transfers
 * all of it. The memory growth of the API and the agent is measured as well.
 */
export const bench: Bench = {
  name: 's15-exec-output',
  title: 'a gigabyte of output',
  run: (context) =>
    withMachine(context.api, 's15', async ({ id }) => {
      const { api, dataDir, incus, plan, say } = context
      const { project, name } = await incus.instanceOf(id)
      const init = await findInit(incus, project, name)
      const agent = listGuest(init).find((pid) => readCommand(pid).includes('agent.mjs'))
      if (agent === undefined) throw new Error('no agent runs in the machine')
      const pids = { api: readServerPid(dataDir, 'api'), agent }
      const growth: Record<keyof typeof pids, number[]> = { api: [], agent: [] }

      const ours = async (): Promise<Sample> => {
        using watches = new DisposableStack()
        const apiMemory = watches.use(watchMemory(pids.api))
        const agentMemory = watches.use(watchMemory(pids.agent))
        const { ms, result } = await time(() =>
          api.ok<Result>('POST', `/v1/machines/${id}/exec`, { command, timeout_ms: 600_000 }),
        )
        growth.api.push(apiMemory.growthMb())
        growth.agent.push(agentMemory.growthMb())
        return { ms, wrong: check(result) }
      }
      const baseline = async (): Promise<Sample> => {
        const args = ['exec', '--project', project, '-T', name, '--', ...command]
        const { ms, result } = await time(() => countOutput(args, incus.env))
        const wrong = result === outputBytes ? undefined : `${result} bytes`
        return { ms, wrong }
      }

      const rounds = await runRounds({ baseline, ours }, plan.slow, say)
      const row = compareSides(
        rounds,
        { baseline: 'baseline', ours: 'ours' },
        {
          id: 'S15',
          ours: 'exec of 1 GB',
          baseline: 'incus exec, whole output',
          target: { ratio: 1 },
        },
      )
      return [row, ...Object.entries(growth).map(([name, values]) => figure(name, values))]
    }),
}

type Result = { readonly stdout: string; readonly exit_code: number; readonly truncated: boolean }

const line = 'the quick brown fox jumps over the lazy dog 012345678901234567\n'
const outputBytes = 1_000_000_000
const keptBytes = 1024 * 1024
const command = ['sh', '-c', `yes '${line.trim()}' | head -c ${outputBytes}`]

/** Expects exactly the last 1 MiB, marked as truncated. */
function check({ stdout, exit_code, truncated }: Result): string | undefined {
  if (exit_code !== 0) return `exit code ${exit_code}`
  if (!truncated) return 'the output is not marked as truncated'
  const from = (outputBytes - keptBytes) % line.length
  const expected = line.repeat(keptBytes / line.length + 2).slice(from, from + keptBytes)
  return stdout === expected
    ? undefined
    : `${stdout.length} characters that are not the end of the output`
}

async function countOutput(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(incusPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => (bytes += chunk.length))
  await once(child, 'close')
  return bytes
}

/** Watches the peak growth of a process. */
function watchMemory(pid: number): Disposable & { growthMb(): number } {
  const before = readAll([pid]).memoryMb
  let most = before
  const measure = () => (most = Math.max(most, readAll([pid]).memoryMb))
  const timer = setInterval(measure, 100)
  return {
    growthMb() {
      measure()
      return most - before
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function figure(name: string, growthMb: readonly number[]): FigureRow {
  const what = `${name}: memory growth per call, maximum of ${growthMb.length}, median ${medianOf(growthMb).toFixed(1)}`
  return { kind: 'figure', id: 'S15', what, value: Math.max(...growthMb), unit: 'MB', limit: 64 }
}
