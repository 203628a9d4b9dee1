import { setTimeout as delay } from 'node:timers/promises'
import { compareEngine, findOperations, readInstances } from './compare-engine.ts'
import { compareKernel } from './compare-kernel.ts'
import { compareProcesses } from './compare-processes.ts'
import type { FaultHost } from './fault-host.ts'
import type { Rows, RowsReader } from './rows.ts'
import type { FaultServer } from './server.ts'

/** The worker sweeps every minute; anything that is left after that is a leak. */
const cleanBoundMs = 80_000
const settleBoundMs = 180_000

export type Comparison = {
  readonly cleanMs: number
  readonly differences: readonly string[]
  /** The last differences before everything agreed. */
  readonly cleaned: readonly string[]
}

/** The time from the last start of a process until every row has settled. */
export async function measureSettling(server: FaultServer, rows: RowsReader): Promise<number> {
  await server.waitAlive()
  const start = performance.now()
  await waitUntilSettled(rows)
  return performance.now() - start
}

/** Waits until every row has settled and nothing is left over, and returns what still differs. */
export async function compareWhenSettled(
  server: FaultServer,
  rows: RowsReader,
): Promise<Comparison> {
  await server.waitReady()
  const unsettled = await waitUntilSettled(rows)
  const comparison = await waitUntilEqual(() => compareAll(server, rows))
  return { ...comparison, differences: [...unsettled, ...comparison.differences] }
}

async function waitUntilSettled(rows: RowsReader): Promise<string[]> {
  const deadline = performance.now() + settleBoundMs
  for (;;) {
    const unsettled = await rows.findUnsettled().catch((error: Error) => error.message)
    if (unsettled === null) return []
    if (performance.now() > deadline) return [`not settled after ${settleBoundMs} ms: ${unsettled}`]
    await delay(50)
  }
}

async function waitUntilEqual(compare: () => Promise<string[]>): Promise<Comparison> {
  const start = performance.now()
  let cleaned: readonly string[] = []
  for (;;) {
    const differences = await compare().catch((error: Error) => [error.message])
    const cleanMs = performance.now() - start
    if (differences.length === 0 || cleanMs > cleanBoundMs) return { cleanMs, differences, cleaned }
    cleaned = differences
    await delay(500)
  }
}

/** The differences between rows, engines and kernel. */
async function compareAll({ hosts }: FaultServer, rows: RowsReader): Promise<string[]> {
  const read = await rows.read()
  const found = [await rows.compare()]
  for (const host of hosts) {
    const problems = await compareHost(host, read)
    found.push(hosts.length === 1 ? problems : problems.map((one) => `${host.name}: ${one}`))
  }
  return found.flat()
}

async function compareHost(host: FaultHost, rows: Rows): Promise<string[]> {
  const instances = await readInstances(host.dataDir)
  const inEngine = new Set(instances.map(({ name }) => idIn(name)))
  const isOurs = (name: string) => {
    const owner = rows.hostOf.get(idIn(name))
    return owner === undefined ? inEngine.has(idIn(name)) : owner === host.name
  }
  const place = { ...host, instances, isOurs }
  const found = await Promise.all([
    findOperations(host.dataDir),
    compareKernel(place),
    compareProcesses(place),
  ])
  return [...compareEngine(rows, host.name, instances), ...found.flat()]
}

/** The ULID in a name of the engine or the kernel. */
function idIn(name: string): string {
  return /(?:mch|cap|seed)-([0-9a-z]{20,32})/.exec(name)?.[1] ?? name
}
