import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { findInit, listGuest, readCommand, readRolePid, readAll } from '../processes.ts'
import { incusPath } from '../incus.ts'
import { withMachine } from '../machine.ts'
import { medianOf, type Sample } from '../measure.ts'
import { compareSides, type Bench, type FigureRow } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A command that writes a gigabyte. Ours answers with the end of it, which it says; the baseline passes
 * on all of it. Beside the time stands by how much the api and the agent grow meanwhile.
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
      const pids = { api: readRolePid(dataDir, 'api'), agent }
      const growth: Record<keyof typeof pids, number[]> = { api: [], agent: [] }

      const ours = async (): Promise<Sample> => {
        using watches = new DisposableStack()
        const apiMemory = watches.use(watchMemory(pids.api))
        const agentMemory = watches.use(watchMemory(pids.agent))
        const { ms, result } = await time(() =>
          api.json<Result>('POST', `/v1/machines/${id}/exec`, { command, timeout_ms: 600_000 }),
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
          baseline: 'incus exec, all of it',
          target: { ratio: 1 },
        },
      )
      return [row, ...Object.entries(growth).map(([role, values]) => figure(role, values))]
    }),
}

type Result = { readonly stdout: string; readonly exit_code: number; readonly truncated: boolean }

const line = 'the quick brown fox jumps over the lazy dog 012345678901234567\n'
const outputBytes = 1_000_000_000
const keptBytes = 1024 * 1024
const command = ['sh', '-c', `yes '${line.trim()}' | head -c ${outputBytes}`]

/** The last 1 MiB, to the byte, and the word that there was more. */
function check({ stdout, exit_code, truncated }: Result): string | undefined {
  if (exit_code !== 0) return `exit code ${exit_code}`
  if (!truncated) return 'it does not say that there was more'
  const from = (outputBytes - keptBytes) % line.length
  const expected = line.repeat(keptBytes / line.length + 2).slice(from, from + keptBytes)
  return stdout === expected ? undefined : `${stdout.length} characters that are not the last ones`
}

async function countOutput(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(incusPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => (bytes += chunk.length))
  await once(child, 'close')
  return bytes
}

/** The most that a process has grown by since this was called. */
function watchMemory(pid: number): Disposable & { growthMb(): number } {
  const before = readAll([pid]).memoryMb
  let most = before
  const look = () => (most = Math.max(most, readAll([pid]).memoryMb))
  const timer = setInterval(look, 100)
  return {
    growthMb() {
      look()
      return most - before
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function figure(role: string, growthMb: readonly number[]): FigureRow {
  const what = `${role}: most growth in a call of ${growthMb.length}, median ${medianOf(growthMb).toFixed(1)}`
  return { kind: 'figure', id: 'S15', what, value: Math.max(...growthMb), unit: 'MB', limit: 64 }
}
