import { mkdtemp, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { shareImageCache } from '../e2e/harness/image-cache.ts'
import { startTestPostgres } from '../server/test/postgres.ts'
import { runLanes } from './test/lanes.ts'
import { lanes, planRuns, type Lane } from './test/plan.ts'
import type { RunResult } from './test/run-files.ts'

/*
 * `npm test`, or `npm test -- FILTER…` for the files whose path contains one of the filters. Files that
 * need no engine and files that run real machines go side by side in lanes (test/lanes.ts);
 * `--lane fake` or `--lane real` runs one kind alone. A file, or a dozen small ones, has a process of its own.
 * Each process has a time limit, and so has the whole.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
process.chdir(repoDir)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { lane: { type: 'string', multiple: true, default: [...lanes] } },
})
// A run takes half as long on two quiet cores. On busy ones it may take this long, and a landing, which ends
// after 90 minutes, still has five minutes for its other steps.
const wholeLimit = AbortSignal.timeout(85 * 60_000)
/** An interrupted run removes the servers that it started. */
const interrupt = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort())
const signal = AbortSignal.any([wholeLimit, interrupt.signal])
const results: RunResult[] = []
const began = performance.now()

const dataDir = await mkdtemp('/var/tmp/computer-test-')
const logsDir = await mkdtemp('/var/tmp/computer-test-logs-')
keepFromRealServer(dataDir)
await using _ = await startSharedPostgres()
await runLanes(planRuns(positionals, values.lane.map(readLane)), {
  logsDir,
  signal,
  onResult(result) {
    results.push(result)
    reportRun(result)
  },
})
await removeDataDir(dataDir)
// Not empty when a file failed.
await rmdir(logsDir).catch(() => {})
reportAll()

function readLane(name: string): Lane {
  const lane = lanes.find((known) => known === name)
  if (lane) return lane
  console.error(`unknown lane ${name}; use ${lanes.join(' or ')}`)
  process.exit(2)
}

function reportRun({ name, seconds, passed, failed, report, logDir }: RunResult): void {
  if (failed > 0) console.log(`${shorten(report)}\nlogs: ${logDir}`)
  const verdict = failed > 0 ? `FAIL  ${failed} of ${passed + failed}` : `ok    ${passed}`
  console.log(`${verdict.padEnd(16)} ${seconds.toFixed(1).padStart(6)} s  ${name}`)
}

/** Cuts long lines, such as a string that differs from another; the kept report has them whole. */
function shorten(report: string): string {
  return report.trimEnd().replace(/^(.{500}).+$/gm, '$1…')
}

function reportAll(): void {
  const sum = (key: 'passed' | 'failed' | 'skipped') =>
    results.reduce((total, result) => total + result[key], 0)
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, 12)
  console.log(`\n${minutes((performance.now() - began) / 1000)} in all. The slowest:`)
  for (const { name, seconds } of slowest) {
    console.log(`${seconds.toFixed(1).padStart(6)} s  ${name}`)
  }
  for (const { name, logDir } of results.filter(({ failed }) => failed > 0)) {
    console.log(`failed: ${name} (logs in ${logDir})`)
  }
  const [passed, failed, skipped] = [sum('passed'), sum('failed'), sum('skipped')]
  if (wholeLimit.aborted) console.log('the time limit of the whole run was reached')
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 || passed === 0 || signal.aborted ? 1 : 0
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

async function startSharedPostgres(): Promise<AsyncDisposable> {
  const server = await startTestPostgres()
  process.env['COMPUTER_TEST_DATABASE_URL'] = server.url('postgres')
  return { [Symbol.asyncDispose]: () => server.stop() }
}

/** Nothing that a test forgets to set may lead it to the data folder of a server on this host. */
function keepFromRealServer(testDir: string): void {
  const { env } = process
  shareImageCache(env)
  env['COMPUTER_DATA'] = testDir
  // Most of what a test process does before its first test is to load the same modules.
  env['NODE_COMPILE_CACHE'] = join(repoDir, '.cache', 'compiled')
  delete env['DATABASE_URL']
}

/** A folder in which something is still mounted is kept for inspection. */
async function removeDataDir(testDir: string): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  if (mounts.includes(` ${testDir}/`)) {
    console.log(`left behind with something mounted in it: ${testDir}`)
  } else {
    await rm(testDir, { recursive: true, force: true })
  }
}
