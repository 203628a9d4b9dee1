import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { shareImageCache } from '../e2e/harness/image-cache.ts'
import { startTestPostgres } from '../server/test/postgres.ts'

/*
 * `npm test`, or `npm test -- FILTER…` for the files whose path contains one of the filters. First
 * what needs no engine, several files side by side on one Postgres; then what runs real machines,
 * one file after the other. Each test has a bound, and so has the whole.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
process.chdir(repoDir)

const tests = globSync('{contract,server,guest-agent,sdk,cli,mcp,scripts,bench,e2e}/**/*.test.ts', {
  exclude: (name) => name.includes('node_modules'),
})
const isReal = (file: string) => /^e2e\/|^server\/test\/incus/.test(file)
const filters = process.argv.slice(2)
const chosen = tests.filter((file) => matches(file, filters)).sort()

const wholeBound = AbortSignal.timeout(50 * 60_000)
const totals = { passed: 0, failed: 0, skipped: 0 }

const dataDir = await mkdtemp('/var/tmp/computer-test-')
keepFromRealServer(dataDir)
await using _ = await startSharedPostgres()
await runFiles(
  chosen.filter((file) => !isReal(file)),
  { concurrency: 2, timeoutMs: 120_000 },
)
await runFiles(chosen.filter(isReal).sort(byCost), { concurrency: 1, timeoutMs: 600_000 })
await removeDataDir(dataDir)

const { passed, failed, skipped } = totals
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

async function runFiles(
  files: readonly string[],
  options: { readonly concurrency: number; readonly timeoutMs: number },
): Promise<void> {
  if (files.length === 0) return
  const { concurrency, timeoutMs: timeout } = options
  const events = run({ files: [...files], concurrency, timeout, signal: wholeBound })
  events.on('test:summary', ({ counts, file }) => {
    // There is one for each file and one, without a name, for all.
    if (file !== undefined) return
    totals.passed += counts.passed
    totals.failed += counts.tests - counts.passed - counts.skipped - counts.todo
    totals.skipped += counts.skipped + counts.todo
  })
  await pipeline(events, new spec(), process.stdout, { end: false })
}

async function startSharedPostgres(): Promise<AsyncDisposable> {
  const server = await startTestPostgres()
  process.env['COMPUTER_TEST_DATABASE_URL'] = server.url('postgres')
  return { [Symbol.asyncDispose]: () => server.stop() }
}

/** Nothing a test forgets to say may lead it to the data folder of a server on this host. */
function keepFromRealServer(testDir: string): void {
  const { env } = process
  shareImageCache(env)
  env['COMPUTER_DATA'] = testDir
  delete env['DATABASE_URL']
}

/** A folder in which something is mounted is left to whoever looks into why. */
async function removeDataDir(testDir: string): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  if (mounts.includes(` ${testDir}/`)) {
    console.log(`left behind with something mounted in it: ${testDir}`)
  } else {
    await rm(testDir, { recursive: true, force: true })
  }
}

function matches(file: string, wanted: readonly string[]): boolean {
  return wanted.length === 0 || wanted.some((part) => resolve(file).includes(part))
}

/** The engine's own suites before the whole product, which cannot work when they fail. */
function byCost(a: string, b: string): number {
  return Number(a.startsWith('e2e/')) - Number(b.startsWith('e2e/')) || a.localeCompare(b)
}
