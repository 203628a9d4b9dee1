import { keepServerLogs } from '../../e2e/harness/logs.ts'
import { startRealServer, type RealServer } from '../../e2e/harness/server.ts'
import { sharedServerOptions } from '../../e2e/harness/shared-server.ts'
import type { Lane, TestFile } from './plan.ts'
import { runFile, type FileResult } from './run-file.ts'

/*
 * A lane takes one file after the other from the queue of its kind. The lanes of real machines have a
 * server each, which starts when the first file joins it: files of one lane never run at the same time,
 * so none disturbs another through the server, whatever it does to it.
 */

/** How many lanes of a kind two cores can feed: real machines wait for much of their time. */
const laneCounts: Readonly<Record<Lane, number>> = { fake: 1, real: 2 }

export type LaneOptions = {
  readonly logsDir: string
  readonly signal: AbortSignal
  onResult(result: FileResult): void
}

/** Runs all files, and resolves when every lane has ended and removed what it started. */
export async function runLanes(files: readonly TestFile[], options: LaneOptions): Promise<void> {
  const queue = [...files]
  const noise = createNoiseRule(queue)
  const running = (Object.keys(laneCounts) as Lane[]).flatMap((kind) =>
    Array.from({ length: laneCounts[kind] }, () => runLane(kind, noise, options)),
  )
  await Promise.all(running)
}

async function runLane(kind: Lane, noise: NoiseRule, options: LaneOptions): Promise<void> {
  let server: RealServer | undefined
  try {
    for (;;) {
      const file = await noise.take(kind)
      if (!file || options.signal.aborted) return
      try {
        if (file.joinsServer) server ??= await startRealServer(sharedServerOptions)
        const result = await runFile(file, { ...options, env: laneEnv(server) })
        if (options.signal.aborted) return
        if (result.failed > 0 && server) await keepServerLogs(server.dataDir, result.logDir)
        options.onResult(result)
      } catch (error) {
        // The server of the lane did not start: the file failed, and the next one tries again.
        options.onResult(failedResult(file, options.logsDir, error as Error))
      } finally {
        noise.release(file)
      }
    }
  } finally {
    await server?.[Symbol.asyncDispose]()
  }
}

function failedResult({ path }: TestFile, logDir: string, { stack }: Error): FileResult {
  return { path, seconds: 0, passed: 0, failed: 1, skipped: 0, report: stack ?? '', logDir }
}

function laneEnv(server: RealServer | undefined): Readonly<Record<string, string>> {
  if (!server) return {}
  const { dataDir, api } = server
  return { COMPUTER_TEST_SERVER: JSON.stringify({ baseUrl: api.baseUrl, dataDir }) }
}

type NoiseRule = {
  /** The next file of this kind, or undefined when none is left. Waits where only loud ones are. */
  take(kind: Lane): Promise<TestFile | undefined>
  release(file: TestFile): void
}

/** Files that measure or flood run one at a time. */
function createNoiseRule(queue: TestFile[]): NoiseRule {
  let isLoud = false
  const waiting: (() => void)[] = []
  return {
    async take(kind) {
      for (;;) {
        const next = queue.findIndex((file) => file.lane === kind && !(file.isLoud && isLoud))
        if (next >= 0) {
          const [file] = queue.splice(next, 1)
          isLoud ||= file!.isLoud
          return file
        }
        if (!queue.some((file) => file.lane === kind)) return undefined
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    release(file) {
      if (file.isLoud) isLoud = false
      for (const resume of waiting.splice(0)) resume()
    },
  }
}
