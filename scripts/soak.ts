import { mkdtemp, rmdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { shareImageCache } from '../e2e/harness/image-cache.ts'
import { soakSize, type SoakName } from './soak/sizes.ts'
import { planRuns } from './test/plan.ts'
import { runFiles } from './test/run-files.ts'

/*
 * `npm run soak` runs every soak at its full size, one after the other, and prints a line of verdict and what the soak has
 * measured for each. `npm run soak -- NAME…` runs those named; `--seed N` repeats one with the seed of a failure, and
 * `--size rounds=5000` changes a size.
 */
const soaks: Readonly<
  Record<SoakName, { readonly files: readonly string[]; readonly hours: number }>
> = {
  lifecycle: { files: ['server/test/lifecycle-model.test.ts'], hours: 0.5 },
  requests: { files: ['server/test/requests/requests.test.ts'], hours: 2 },
  flipping: { files: ['guest-agent/test/files-flipping.test.ts'], hours: 1 },
  gigabyte: { files: ['e2e/files.test.ts', 'e2e/cli.test.ts'], hours: 0.5 },
  deep: { files: ['e2e/disks.test.ts'], hours: 0.5 },
  fleet: { files: ['dashboard/test/fleet.test.ts'], hours: 0.5 },
  full: { files: ['e2e/disk-limits.test.ts'], hours: 0.5 },
  hostile: { files: ['server/test/hostile-agent.test.ts'], hours: 1 },
  faults: { files: ['e2e/faults/faults.test.ts'], hours: 3 },
  churn: { files: ['e2e/churn/churn.test.ts'], hours: 9 },
  hosts: { files: ['e2e/faults/faults-of-hosts.test.ts'], hours: 4 },
  billing: {
    files: [
      'server/src/domain/rating.test.ts',
      'server/src/domain/rating-allocation.test.ts',
      'server/test/usage-properties.test.ts',
      'server/test/billing-final.test.ts',
      'server/test/billing-exact.test.ts',
      'server/test/meter-times.test.ts',
      'server/test/billing-life/life.test.ts',
      'server/test/billing-life/kills.test.ts',
    ],
    hours: 6,
  },
  races: {
    files: [
      'server/test/budgets-last-cent.test.ts',
      'server/test/budgets-last-hour.test.ts',
      'server/test/starts-race.test.ts',
    ],
    hours: 1,
  },
  guard: { files: ['guest-agent/test/stale-guard.test.ts', 'e2e/stale-guard.test.ts'], hours: 3 },
  webhooks: { files: ['server/test/webhooks-kills.test.ts'], hours: 1 },
  leases: { files: ['e2e/leases/leases.test.ts'], hours: 6 },
}

process.chdir(fileURLToPath(new URL('../', import.meta.url)))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, size: { type: 'string', multiple: true, default: [] } },
})
const names = (positionals.length > 0 ? positionals : Object.keys(soaks)).map(readName)
const sizes = Object.fromEntries(values.size.map(readSize))
const env = {
  COMPUTER_SOAK: 'full',
  COMPUTER_SOAK_SIZE: JSON.stringify(sizes),
  ...(values.seed !== undefined && { COMPUTER_SOAK_SEED: values.seed }),
}
shareImageCache()
const logsDir = await mkdtemp('/var/tmp/computer-soak-logs-')
for (const name of names) {
  if (!(await runSoak(name))) process.exitCode = 1
}
// Not empty when a soak failed.
await rmdir(logsDir).catch(() => {})

async function runSoak(name: SoakName): Promise<boolean> {
  const { files, hours } = soaks[name]
  let isGood = true
  for (const path of files) {
    const [run] = planRuns([path], ['fake', 'real'])
    const options = { logsDir, env, timeoutMs: hours * 3_600_000 }
    const { seconds, passed, failed, report, logDir } = await runFiles(run!, options)
    isGood &&= failed === 0
    if (failed > 0) console.log(`${report.trimEnd()}\nlogs: ${logDir}`)
    const size = Object.entries(soakSize(name, env)).map(([key, value]) => `${value} ${key}`)
    const verdict = failed > 0 ? `FAIL  ${failed} of ${passed + failed}` : 'ok'
    const said = [
      ...report.matchAll(/^ℹ (?!tests|suites|pass|fail|cancelled|skipped|todo|duration)(.*)$/gm),
    ]
    const minutes = `${(seconds / 60).toFixed(1)} min`
    console.log([verdict.padEnd(6), name, size.join(', '), path, minutes].join('  '))
    for (const [, fact] of said) console.log(`       ${fact!.trim()}`)
  }
  return isGood
}

function readName(name: string): SoakName {
  if (name in soaks) return name as SoakName
  console.error(`unknown soak ${name}; use one of ${Object.keys(soaks).join(', ')}`)
  process.exit(2)
}

function readSize(text: string): [string, number] {
  const [name, value] = text.split('=')
  if (/^\d+$/.test(value ?? '')) return [name!, Number(value)]
  console.error(`${text} is no size; use for example --size rounds=5000`)
  process.exit(2)
}
