import { appendFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestFile } from './plan.ts'

export type FileResult = {
  readonly path: string
  readonly seconds: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The report of the file's tests, as the spec reporter writes it. */
  readonly report: string
  /** Kept when the file failed: its report and the logs of servers and engines that it used. */
  readonly logDir: string
}

/** The time limit of each test of a lane. */
const testTimeoutsMs = { fake: 120_000, real: 600_000 } as const
/** The time limit of a file, which also ends what a test or a hook left behind. */
const fileTimeoutMs = 900_000

/** Runs one file in a process of its own. */
export async function runFile(
  { path, lane }: TestFile,
  options: {
    readonly logsDir: string
    readonly env: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
    /** Replaces the time limit of the file and the one of each of its tests. */
    readonly timeoutMs?: number
  },
): Promise<FileResult> {
  const logDir = join(options.logsDir, path.replaceAll('/', '-').replace(/\.test\.ts$/, ''))
  await mkdir(logDir, { recursive: true })
  const began = performance.now()
  const limit = AbortSignal.timeout(options.timeoutMs ?? fileTimeoutMs)
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const events = run({
    files: [path],
    concurrency: 1,
    execArgv: ['--import', import.meta.resolve('./forget-promises.ts')],
    // The runner applies its timeout to each test alone, so the signal bounds the file.
    timeout: options.timeoutMs ?? testTimeoutsMs[lane],
    signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
    env: { ...process.env, ...options.env, COMPUTER_TEST_LOGS: logDir },
  })
  let isSuccess = false
  events.on('test:summary', ({ counts: of, file, success }) => {
    // There is one for each file and one, without a name, for all.
    if (file === undefined) {
      isSuccess = success
      return
    }
    counts.passed += of.passed
    counts.failed += of.tests - of.passed - of.skipped - of.todo
    counts.skipped += of.skipped + of.todo
  })
  let report = ''
  for await (const text of events.compose(new spec())) report += String(text)
  // No test fails in a file without one, by its end before its tests do, or by an error after the test that caused it.
  if (!isSuccess || counts.passed + counts.skipped === 0) counts.failed ||= 1
  if (counts.failed > 0) await appendFile(join(logDir, 'report.txt'), report)
  else await rm(logDir, { recursive: true })
  const seconds = (performance.now() - began) / 1000
  return { path, seconds, ...counts, report, logDir }
}
