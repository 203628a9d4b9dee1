import { globSync, readFileSync } from 'node:fs'

/** Lanes run side by side. `check` is no lane: it is `npm run check`. */
export const lanes = ['fake', 'real'] as const
export type Lane = (typeof lanes)[number]

/** A file, or several small ones one after the other, in a process of its own. */
export type TestRun = {
  readonly paths: readonly string[]
  readonly lane: Lane
  /** The duration in an earlier run, for the order in which these start. Nothing is asserted on it. */
  readonly seconds: number
  /** It measures or floods, so nothing else that does goes on at the same time. */
  readonly isLoud: boolean
  /** It uses the server of its lane instead of one of its own. */
  readonly joinsServer: boolean
}

/** To load the modules takes a third of the time of a small file, so a process loads them for as many. */
const smallFilesAtOnce = 12
const secondsOfSmallFile = 4
/** Where the files all load the same modules, and end in the process what they start in it. */
const groupedFiles = /^(server|dashboard)\//
/** They give their process a provider of traces, of which it can have one. */
const filesAlone: readonly string[] = [
  'server/test/trace-export.test.ts',
  'server/test/trace.test.ts',
]

/** Runs of the test files whose path contains one of the filters, or of all; the most expensive first. */
export function planRuns(filters: readonly string[], only: readonly Lane[]): TestRun[] {
  const packages = '{contract,server,guest-agent,sdk,cli,mcp,dashboard,scripts,bench,e2e}'
  const paths = globSync(`${packages}/**/*.test.ts`, {
    exclude: (name) => name.includes('node_modules'),
  })
    .filter((path) => filters.length === 0 || filters.some((part) => path.includes(part)))
    .toSorted()
  const alone = paths.filter((path) => !isGrouped(path)).map(planAlone)
  return [...alone, ...planGroups(paths.filter(isGrouped))]
    .filter(({ lane }) => only.includes(lane))
    .sort((a, b) => b.seconds - a.seconds)
}

function isGrouped(path: string): boolean {
  if (needsEngine(path) || filesAlone.includes(path)) return false
  return groupedFiles.test(path) && seconds[path] === undefined
}

function planAlone(path: string): TestRun {
  const lane = needsEngine(path) ? 'real' : 'fake'
  return {
    paths: [path],
    lane,
    seconds: seconds[path] ?? (lane === 'real' ? 30 : secondsOfSmallFile),
    isLoud: loudFiles.includes(path),
    joinsServer: /\bjoinServer\(/.test(readFileSync(path, 'utf8')),
  }
}

/** Shares the files out evenly. */
function planGroups(paths: readonly string[]): TestRun[] {
  const count = Math.ceil(paths.length / smallFilesAtOnce)
  const startOf = (index: number) => Math.round((index * paths.length) / count)
  return Array.from({ length: count }, (_, index) => {
    const own = paths.slice(startOf(index), startOf(index + 1))
    const duration = own.length * secondsOfSmallFile
    return { paths: own, lane: 'fake', seconds: duration, isLoud: false, joinsServer: false }
  })
}

/** Histories of leases play on the fake engine, with a real agent and display. */
function needsEngine(path: string): boolean {
  if (path.startsWith('server/test/incus')) return true
  return path.startsWith('e2e/') && !path.startsWith('e2e/leases/')
}

/**
 * Files that take 15 s or more with all lanes running on two cores. Some are estimates, which is enough for an
 * order; the summary of a run shows today's.
 */
const seconds: Readonly<Record<string, number>> = {
  'e2e/docs.test.ts': 217,
  'e2e/attacks/agent-socket.test.ts': 153,
  'e2e/host.test.ts': 150,
  'dashboard/test/hostile.test.ts': 150,
  'server/test/incus-driver.test.ts': 138,
  'e2e/disks.test.ts': 109,
  'e2e/backup.test.ts': 100,
  'dashboard/test/spoken.test.ts': 100,
  'dashboard/test/people-pages.test.ts': 100,
  'dashboard/test/accessibility.test.ts': 95,
  'server/test/crash-steps-restore.test.ts': 91,
  'server/test/requests/requests.test.ts': 80,
  'e2e/faults/faults.test.ts': 80,
  'e2e/faults/faults-of-hosts.test.ts': 110,
  'e2e/churn/churn.test.ts': 185,
  'e2e/cluster/members.test.ts': 175,
  'e2e/cluster/guide.test.ts': 150,
  'server/test/incus-members.test.ts': 210,
  'dashboard/test/hostile-machine.test.ts': 80,
  'e2e/cli.test.ts': 74,
  'server/test/crash-steps-restore-at-rest.test.ts': 71,
  'dashboard/test/fleet.test.ts': 70,
  'e2e/disk-limits.test.ts': 64,
  'dashboard/test/baselines.test.ts': 60,
  'e2e/secrets.test.ts': 60,
  'dashboard/test/live.test.ts': 60,
  'e2e/dashboard-story.test.ts': 60,
  'server/test/crash-steps-copies.test.ts': 57,
  'e2e/dashboard-screen.test.ts': 55,
  'e2e/isolation.test.ts': 53,
  'dashboard/test/terminal.test.ts': 50,
  'e2e/files.test.ts': 50,
  'server/test/budgets-last-hour.test.ts': 50,
  'server/test/budgets-last-cent.test.ts': 50,
  'e2e/computer.test.ts': 48,
  'e2e/sdk.test.ts': 45,
  'server/test/billing-life/life.test.ts': 45,
  'e2e/leases/leases.test.ts': 43,
  'server/test/request-bodies.test.ts': 43,
  'e2e/attacks/kernel.test.ts': 42,
  'e2e/previews-browser.test.ts': 41,
  'server/test/crash-steps-boot.test.ts': 40,
  'server/test/billing-life/kills.test.ts': 40,
  'server/test/incus-backups.test.ts': 40,
  'server/test/starts-race.test.ts': 36,
  'e2e/identity.test.ts': 35,
  'cli/test/machines.test.ts': 32,
  'server/test/meter-times.test.ts': 32,
  'server/test/held-memory.test.ts': 32,
  'server/test/crash-steps-captures.test.ts': 31,
  'server/test/billing-final.test.ts': 31,
  'e2e/dashboard-viewers.test.ts': 30,
  'e2e/previews.test.ts': 30,
  'server/test/usage-properties.test.ts': 30,
  'e2e/floods.test.ts': 29,
  'e2e/novnc.test.ts': 29,
  'server/test/billing-exact.test.ts': 28,
  'sdk/test/guide.test.ts': 28,
  'guest-agent/test/files-flipping.test.ts': 25,
  'guest-agent/test/stale-guard.test.ts': 25,
  'server/test/hostile-agent.test.ts': 25,
  'server/test/admin.test.ts': 22,
  'e2e/attacks/network.test.ts': 21,
  'server/test/endpoint-matrix.test.ts': 20,
  'server/test/crash-steps-stop.test.ts': 20,
  'server/test/accounts-guide.test.ts': 20,
  'server/test/downloads-npm.test.ts': 20,
  'server/test/host-launcher.test.ts': 20,
  'cli/test/view-page.test.ts': 20,
  'server/test/budgets-stops.test.ts': 20,
  'e2e/mcp.test.ts': 19,
  'server/test/endpoints.test.ts': 19,
  'server/test/lifecycle-model.test.ts': 18,
  'e2e/terminals.test.ts': 18,
  'e2e/takeover.test.ts': 18,
  'cli/test/cp.test.ts': 18,
  'cli/test/exec.test.ts': 18,
  'server/test/crash-steps-deletion.test.ts': 18,
  'cli/test/login.test.ts': 16,
  'sdk/test/exit.test.ts': 16,
  'mcp/test/whole-path.test.ts': 15,
  'server/test/incus-full-pool.test.ts': 15,
  'server/test/warm-machines.test.ts': 15,
}

const loudFiles: readonly string[] = [
  'dashboard/test/fleet.test.ts',
  'e2e/attacks/kernel.test.ts',
  'e2e/attacks/network.test.ts',
  'e2e/cli.test.ts',
  'e2e/disk-limits.test.ts',
  'e2e/disks.test.ts',
  'e2e/faults/faults-of-hosts.test.ts',
  'e2e/faults/faults.test.ts',
  'e2e/files.test.ts',
  'e2e/floods.test.ts',
  'server/test/incus-full-pool.test.ts',
  'server/test/lifecycle-model.test.ts',
]
