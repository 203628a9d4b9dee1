import { setTimeout as delay } from 'node:timers/promises'
import { compareEngine, findOperations, readInstances } from './compare-engine.ts'
import { compareKernel } from './compare-kernel.ts'
import { compareProcesses } from './compare-processes.ts'
import type { RowsReader } from './rows.ts'
import type { FaultServer } from './server.ts'

/** The worker's own pass over everything comes every minute; what is still there after it is a leak. */
const cleanBoundMs = 80_000
const restBoundMs = 180_000

export type Comparison = {
  readonly cleanMs: number
  readonly differences: readonly string[]
  /** What was left over at first, and went. */
  readonly cleaned: readonly string[]
}

/** How long after the last start of a process it took until every row rested. */
export async function measureRest(server: FaultServer, rows: RowsReader): Promise<number> {
  await server.waitAlive()
  const begun = performance.now()
  await waitForRest(rows)
  return performance.now() - begun
}

/** Waits until every row rests and nothing is left over, and says what still differs. */
export async function compareAtRest(server: FaultServer, rows: RowsReader): Promise<Comparison> {
  await server.waitReady()
  const unrest = await waitForRest(rows)
  const comparison = await waitUntilEqual(() => compareAll(server, rows))
  return { ...comparison, differences: [...unrest, ...comparison.differences] }
}

async function waitForRest(rows: RowsReader): Promise<string[]> {
  const deadline = performance.now() + restBoundMs
  for (;;) {
    const unrest = await rows.findUnrest().catch((error: Error) => error.message)
    if (unrest === null) return []
    if (performance.now() > deadline) return [`not at rest after ${restBoundMs} ms: ${unrest}`]
    await delay(50)
  }
}

async function waitUntilEqual(compare: () => Promise<string[]>): Promise<Comparison> {
  const begun = performance.now()
  let cleaned: readonly string[] = []
  for (;;) {
    const differences = await compare().catch((error: Error) => [error.message])
    const cleanMs = performance.now() - begun
    if (differences.length === 0 || cleanMs > cleanBoundMs) return { cleanMs, differences, cleaned }
    cleaned = differences
    await delay(500)
  }
}

/** Where rows, engine and kernel do not say the same. */
async function compareAll(server: FaultServer, rows: RowsReader): Promise<string[]> {
  const { dataDir, network } = server
  const read = await rows.read()
  const instances = await readInstances(dataDir)
  const ids = new Set([...read.ids, ...instances.map(({ name }) => idIn(name))])
  const place = { dataDir, network, instances, isOurs: (name: string) => ids.has(idIn(name)) }
  const found = await Promise.all([
    rows.compare(),
    findOperations(dataDir),
    compareKernel(place),
    compareProcesses(place),
  ])
  return [...compareEngine(read, instances), ...found.flat()]
}

/** The part of an engine's or the kernel's name that is the ULID of ours. */
function idIn(name: string): string {
  return /(?:mch|cap|seed)-([0-9a-z]{20,32})/.exec(name)?.[1] ?? name
}
