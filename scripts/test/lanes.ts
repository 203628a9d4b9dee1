import { keepServerLogs } from '../../e2e/harness/logs.ts'
import { startRealServer, type RealServer } from '../../e2e/harness/server.ts'
import { sharedServerOptions } from '../../e2e/harness/shared-server.ts'
import { areProcessesDisturbed } from './disturbance.ts'
import { lanes, type Lane, type TestRun } from './plan.ts'
import { nameOf, runFiles, type RunResult } from './run-files.ts'

/*
 * Each runner takes one run after the other from the queue of its lanes. A runner of real machines has
 * a server, which starts when the first file joins it: files of one runner never run at the same time, so
 * none disturbs another through the server, whatever it does to it.
 */

/** The lanes of each runner, in the order in which it prefers them: as many runners as keep two cores busy. */
const runners: readonly (readonly Lane[])[] = [lanes, lanes.toReversed()]

export type LaneOptions = {
  readonly logsDir: string
  readonly signal: AbortSignal
  onResult(result: RunResult): void
}

/** Runs all files, and resolves when every lane has ended and removed what it started. */
export async function runLanes(runs: readonly TestRun[], options: LaneOptions): Promise<void> {
  const queue = [...runs]
  const noise = createNoiseRule(queue)
  const isDisturbed = queue.length > 1 && (await areProcessesDisturbed())
  if (isDisturbed)
    console.log('one file at a time, because processes of this host disturb each other')
  const working = isDisturbed ? [lanes] : runners
  await Promise.all(working.map((own) => takeRuns(own, noise, options)))
}

async function takeRuns(
  own: readonly Lane[],
  noise: NoiseRule,
  options: LaneOptions,
): Promise<void> {
  let server: RealServer | undefined
  try {
    for (;;) {
      const run = await noise.take(own)
      if (!run || options.signal.aborted) return
      try {
        if (run.joinsServer) server ??= await startRealServer(sharedServerOptions)
        const result = await runFiles(run, { ...options, env: serverEnv(server) })
        if (options.signal.aborted) return
        if (result.failed > 0 && server) await keepServerLogs(server.dataDir, result.logDir)
        options.onResult(result)
      } catch (error) {
        // The server of the runner did not start: the run failed, and the next one tries again.
        options.onResult(failedResult(run, options.logsDir, error as Error))
      } finally {
        noise.release(run)
      }
    }
  } finally {
    await server?.[Symbol.asyncDispose]()
  }
}

function failedResult({ paths }: TestRun, logDir: string, { stack }: Error): RunResult {
  const name = nameOf(paths)
  return { name, seconds: 0, passed: 0, failed: 1, skipped: 0, report: stack ?? '', logDir }
}

function serverEnv(server: RealServer | undefined): Readonly<Record<string, string>> {
  if (!server) return {}
  const { dataDir, api } = server
  return { COMPUTER_TEST_SERVER: JSON.stringify({ baseUrl: api.baseUrl, dataDir }) }
}

type NoiseRule = {
  /** The next run of these lanes, or undefined when none is left. Waits where only loud ones are. */
  take(own: readonly Lane[]): Promise<TestRun | undefined>
  release(run: TestRun): void
}

/** Files that measure or flood run one at a time. */
function createNoiseRule(queue: TestRun[]): NoiseRule {
  let isLoud = false
  const waiting: (() => void)[] = []
  return {
    async take(own) {
      for (;;) {
        const run = own
          .map((lane) => queue.find((one) => one.lane === lane && !(one.isLoud && isLoud)))
          .find((one) => one !== undefined)
        if (run) {
          queue.splice(queue.indexOf(run), 1)
          isLoud ||= run.isLoud
          return run
        }
        if (!queue.some(({ lane }) => own.includes(lane))) return undefined
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    release(run) {
      if (run.isLoud) isLoud = false
      for (const resume of waiting.splice(0)) resume()
    },
  }
}
