import { appendFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestRun } from './plan.ts'

export type RunResult = {
  /** The path of the file, or what the run has. */
  readonly name: string
  readonly seconds: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The report of the tests, as the spec reporter writes it. */
  readonly report: string
  /** Kept when a test failed: the report and the logs of servers and engines that were used. */
  readonly logDir: string
}

/** The time limit of each test of a lane. */
const testTimeoutsMs = { fake: 120_000, real: 600_000 } as const
/** The time limit of a run, which also ends what a test or a hook left behind. */
const runTimeoutMs = 900_000
/** Runs several files, each as a test with its tests in it. */
const severalFiles = fileURLToPath(new URL('./several-files.ts', import.meta.url))

/** Runs files in a process of their own. */
export async function runFiles(
  { paths, lane }: Pick<TestRun, 'paths' | 'lane'>,
  options: {
    readonly logsDir: string
    readonly env: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
    /** Replaces the time limit of the run and the one of each of its tests. */
    readonly timeoutMs?: number
  },
): Promise<RunResult> {
  const logDir = join(options.logsDir, paths[0]!.replaceAll('/', '-').replace(/\.test\.ts$/, ''))
  await mkdir(logDir, { recursive: true })
  const began = performance.now()
  const limit = AbortSignal.timeout(options.timeoutMs ?? runTimeoutMs)
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const areSeveral = paths.length > 1
  const events = run({
    files: areSeveral ? [severalFiles] : [...paths],
    concurrency: 1,
    execArgv: ['--import', import.meta.resolve('./runner-promises.ts')],
    // The runner applies its timeout to each test alone, so the signal bounds the run.
    timeout: options.timeoutMs ?? testTimeoutsMs[lane],
    signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
    env: {
      ...process.env,
      ...options.env,
      COMPUTER_TEST_LOGS: logDir,
      ...(areSeveral && { COMPUTER_TEST_FILES: JSON.stringify(paths) }),
    },
  })
  let isSuccess = false
  events.on('test:summary', ({ counts: of, file, success }) => {
    // There is one for each process and one, without a name, for all.
    if (file === undefined) {
      isSuccess = success
      return
    }
    counts.passed += of.passed
    counts.failed += of.tests - of.passed - of.skipped - of.todo
    counts.skipped += of.skipped + of.todo
  })
  let filesWithTests = 0
  let testsOfFile = 0
  const countTests = ({ nesting }: { readonly nesting: number }) => {
    if (nesting === 1) testsOfFile += 1
    if (nesting > 0) return
    // The first one is that the file loads.
    if (testsOfFile > 1) filesWithTests += 1
    testsOfFile = 0
  }
  if (areSeveral) events.on('test:pass', countTests).on('test:fail', countTests)
  let report = ''
  for await (const text of events.compose(new spec())) report += String(text)
  const areTested = areSeveral
    ? filesWithTests === paths.length
    : counts.passed + counts.skipped > 0
  // Each of several files is two tests more: that of the file, and that it loads.
  if (areSeveral) counts.passed = Math.max(0, counts.passed - 2 * paths.length)
  // No test fails in a file without one, by its end before its tests do, or by an error after the test that caused it.
  if (!isSuccess || !areTested) counts.failed ||= 1
  if (counts.failed > 0) await appendFile(join(logDir, 'report.txt'), report)
  else await rm(logDir, { recursive: true })
  const seconds = (performance.now() - began) / 1000
  return { name: nameOf(paths), seconds, ...counts, report, logDir }
}

export function nameOf(paths: readonly string[]): string {
  const [first, last] = [paths[0]!, paths.at(-1)!]
  return first === last ? first : `${paths.length} files: ${first} … ${last}`
}
