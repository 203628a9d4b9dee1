import { globSync, readFileSync } from 'node:fs'

/** Lanes run side by side. `check` is no lane: it is `npm run check`. */
export const lanes = ['fake', 'real'] as const
export type Lane = (typeof lanes)[number]

export type TestFile = {
  readonly path: string
  readonly lane: Lane
  /** The duration in an earlier run, for the order in which files start. Nothing is asserted on it. */
  readonly seconds: number
  /** It measures or floods, so no other such file runs at the same time. */
  readonly isLoud: boolean
  /** It uses the server of its lane instead of one of its own. */
  readonly joinsServer: boolean
}

/** The test files whose path contains one of the filters, or all; the most expensive first. */
export function planFiles(filters: readonly string[], only: readonly Lane[]): TestFile[] {
  const packages = '{contract,server,guest-agent,sdk,cli,mcp,scripts,bench,e2e}'
  const paths = globSync(`${packages}/**/*.test.ts`, {
    exclude: (name) => name.includes('node_modules'),
  })
  return paths
    .filter((path) => filters.length === 0 || filters.some((part) => path.includes(part)))
    .map(describeFile)
    .filter(({ lane }) => only.includes(lane))
    .sort((a, b) => b.seconds - a.seconds || a.path.localeCompare(b.path))
}

function describeFile(path: string): TestFile {
  const lane = needsEngine(path) ? 'real' : 'fake'
  return {
    path,
    lane,
    seconds: seconds[path] ?? (lane === 'real' ? 30 : 2),
    isLoud: loudFiles.includes(path),
    joinsServer: /\bjoinServer\(/.test(readFileSync(path, 'utf8')),
  }
}

/** Histories of leases play on the fake engine, with a real agent and display. */
function needsEngine(path: string): boolean {
  if (path.startsWith('server/test/incus')) return true
  return path.startsWith('e2e/') && !path.startsWith('e2e/leases/')
}

/** Files that take more than a few seconds, on two quiet cores. The summary of a run shows today's. */
const seconds: Readonly<Record<string, number>> = {
  'server/test/incus-driver.test.ts': 118,
  'e2e/faults/faults.test.ts': 110,
  'e2e/cli.test.ts': 82,
  'e2e/computer.test.ts': 79,
  'e2e/disk-limits.test.ts': 74,
  'e2e/disks.test.ts': 70,
  'e2e/files.test.ts': 60,
  'server/test/incus-full-pool.test.ts': 53,
}

const loudFiles: readonly string[] = [
  'e2e/disk-limits.test.ts',
  'e2e/faults/faults.test.ts',
  'e2e/files.test.ts',
  'e2e/floods.test.ts',
  'server/test/incus-full-pool.test.ts',
  'server/test/lifecycle-model.test.ts',
]
