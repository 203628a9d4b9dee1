import { writeFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { openIncus } from './incus.ts'
import { bench as firstPicture } from './rows/a13-first-picture.ts'
import { bench as attacks } from './rows/r12-attacks.ts'
import { bench as upgrade } from './rows/r19-upgrade.ts'
import { bench as hostileAgent } from './rows/r20-hostile-agent.ts'
import { bench as create } from './rows/s01-create.ts'
import { bench as manyCreates } from './rows/s03-many-creates.ts'
import { bench as firstClick } from './rows/s04-first-click.ts'
import { bench as fork } from './rows/s05-fork.ts'
import { bench as snapshot } from './rows/s06-snapshot.ts'
import { bench as restore } from './rows/s07-restore.ts'
import { bench as screenshotJpeg } from './rows/s08-screenshot-jpeg.ts'
import { bench as screenshotPng } from './rows/s09-screenshot-png.ts'
import { bench as click } from './rows/s10-click.ts'
import { bench as type } from './rows/s11-type.ts'
import { bench as frame } from './rows/s12-frame.ts'
import { bench as viewers } from './rows/s13-viewers.ts'
import { bench as exec } from './rows/s14-exec.ts'
import { bench as execOutput } from './rows/s15-exec-output.ts'
import { bench as files } from './rows/s16-files.ts'
import { bench as keystroke } from './rows/s17-keystroke.ts'
import { bench as preview } from './rows/s18-preview.ts'
import { bench as authenticatedRead } from './rows/s19-authenticated-read.ts'
import { bench as events } from './rows/s20-events.ts'
import { bench as footprint } from './rows/s21-footprint.ts'
import { bench as scale } from './rows/s22-scale.ts'
import { bench as density } from './rows/d60-density.ts'
import { bench as bootCpu } from './rows/s23-boot-cpu.ts'
import { bench as dashboard } from './rows/s24-dashboard.ts'
import { bench as dashboardScreen } from './rows/s24-screen.ts'
import { bench as pictureAfterAction } from './rows/s25-picture-after-action.ts'
import { bench as usageSummary } from './rows/s27-usage-summary.ts'
import { bench as roomToRun } from './rows/s28-room-to-run.ts'
import { bench as guard } from './rows/s29-guard.ts'
import { bench as webhooks } from './rows/s30-webhooks.ts'
import type { Bench, BenchContext, Row } from './row.ts'
import type { Run } from './rounds.ts'
import { openServer } from './server.ts'
import { formatTable } from './table.ts'
import { describeRuns } from './trace.ts'

/*
 * `npm run bench` runs all benchmarks, `npm run bench -- NAME…` some of them. Each compares ours with the
 * tool that users would use instead, on the same host, and prints the ratio.
 *
 *   --pairs N     the number of pairs, instead of 30 (300 for operations below 50 ms)
 *   --quick       a few pairs, to check that it works; too few for a verdict
 *   --trace       prints where the time of the median run went, for benches that time calls to the server
 *   --json FILE   writes the rows as JSON
 */
const benches: readonly Bench[] = [
  create,
  manyCreates,
  firstClick,
  fork,
  snapshot,
  restore,
  screenshotJpeg,
  screenshotPng,
  click,
  type,
  frame,
  viewers,
  exec,
  execOutput,
  files,
  keystroke,
  preview,
  authenticatedRead,
  events,
  footprint,
  scale,
  density,
  bootCpu,
  dashboard,
  dashboardScreen,
  pictureAfterAction,
  usageSummary,
  roomToRun,
  guard,
  webhooks,
  firstPicture,
  attacks,
  upgrade,
  hostileAgent,
]

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string' },
    quick: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Rounds check it, so that everything made for the bench is removed before the exit.
  process.once(signal, () => interrupted.abort(new Error('interrupted')))
}
if (options.trace) process.env['COMPUTER_TRACE'] = '1'
const chosen = names.length === 0 ? benches : names.map(findBench)
const results = await runBenches(chosen)

const rows = results.flatMap((result) => result.rows)
console.log(`\n${formatTable(rows)}\n\n${describeHost()}, ${describeLoads()}`)
const failed = results.filter(({ error }) => error !== undefined)
for (const { name, error } of failed) console.log(`${name} failed: ${error}`)
if (options.json) await writeJson(options.json)
const hasFailed = rows.some((row) => row.kind === 'compared' && row.comparison.verdict === 'FAIL')
process.exitCode = failed.length > 0 || hasFailed ? 1 : 0

type Result = {
  readonly name: string
  readonly rows: readonly Row[]
  readonly error?: string
  /** The load average of the last minute, before and after. */
  readonly load: readonly [number, number]
}

async function runBenches(list: readonly Bench[]): Promise<Result[]> {
  say('starting the server')
  await using server = await openServer()
  const { data } = await server.api.ok<{ data: { id: string; default: boolean }[] }>(
    'GET',
    '/v1/images',
  )
  const image = data.find((one) => one.default)
  if (!image) throw new Error('the server has no default image')
  await using incus = await openIncus(server.dataDir, image.id)
  const found: Result[] = []
  for (const { name, title, run } of list) {
    if (interrupted.signal.aborted) break
    const before = loadavg()[0]!
    const runs: Run[] = []
    const onRun = options.trace ? (run: Run) => void runs.push(run) : undefined
    const context: BenchContext = {
      api: server.api,
      dataDir: server.dataDir,
      incus,
      plan: {
        slow: { ...plan(30, 5), onRun },
        fast: { ...plan(300, 20), onRun },
        restMs: options.quick ? 5_000 : 60_000,
      },
      say(progress) {
        interrupted.signal.throwIfAborted()
        say(`${name} (${title}): ${progress}`)
      },
    }
    try {
      const measured = await run(context)
      found.push({ name, rows: measured, load: [before, loadavg()[0]!] })
      for (const tree of await describeRuns(server.dataDir, runs)) console.log(`\n${name}, ${tree}`)
    } catch (error) {
      found.push({ name, rows: [], error: String(error), load: [before, loadavg()[0]!] })
    }
  }
  say('cleaning up')
  return found
}

function plan(usual: number, quick: number): BenchContext['plan']['slow'] {
  const rounds = options.pairs ? Number(options.pairs) : options.quick ? quick : usual
  if (!(rounds >= 1)) throw new Error('--pairs takes a positive number')
  return {
    rounds,
    warmups: options.quick ? 1 : 5,
    budgetMs: options.quick ? 120_000 : 15 * 60_000,
  }
}

/** Finds a bench by its name or by the number of its goal: `s1` is `s01-create`. */
function findBench(name: string): Bench {
  const number = /^s0?(\d+)$/i.exec(name)?.[1]?.padStart(2, '0')
  const bench = benches.find(
    (one) =>
      one.name === name || one.name.endsWith(`-${name}`) || one.name.startsWith(`s${number}-`),
  )
  if (bench) return bench
  throw new Error(`unknown bench ${name}; use one of ${benches.map((one) => one.name).join(', ')}`)
}

function describeHost(): string {
  const processors = cpus()
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return `${processors.length} × ${processors[0]?.model.trim()}, ${memoryGb} GB, Linux ${release()}`
}

function describeLoads(): string {
  const loads = results.map(
    ({ name, load }) => `${name} ${load.map((value) => value.toFixed(1)).join(' → ')}`,
  )
  return `load average ${loads.join(', ')}`
}

async function writeJson(path: string): Promise<void> {
  const document = { at: new Date().toISOString(), host: describeHost(), results }
  await writeFile(path, `${JSON.stringify(document, null, 2)}\n`)
}

function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (!/\d of \d/.test(text) || / (1|\d*0) of /.test(text)) process.stderr.write(`${text}\n`)
}
