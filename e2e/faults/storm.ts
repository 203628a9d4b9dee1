import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditContents, auditLedger } from './audit.ts'
import { createCallers, type Caller } from './caller.ts'
import { compareWhenSettled, measureSettling } from './compare.ts'
import { planKills, runKills, type Kill } from './killer.ts'
import { lastingOperations, runNext } from './choice.ts'
import type { FaultHost } from './fault-host.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { keepServerLogs } from '../harness/logs.ts'
import { createRandom, type Random } from '../harness/random.ts'
import { openOperator } from './operator.ts'
import { openRows, type RowsReader } from './rows.ts'
import { startFaultServer, type FaultServer } from './server.ts'

/*
 * A storm consists of rounds. In each, a few callers run operations while processes of the server are
 * killed; then everything settles and is compared. The seed determines operations and kills, but not how
 * they interleave.
 */
type StormOptions = {
  readonly seed: number
  readonly hosts: number
  readonly operations: number
  readonly kills: number
  /** Receives the logs if something differs. */
  readonly logFolder: string
  readonly say: (text: string) => void
}

export type StormResult = {
  readonly failedStarts: number
  /** Running machines that went to another host. */
  readonly moves: number
  readonly rounds: readonly RoundTimes[]
  readonly counts: Ledger['counts']
  /** Contradictions with acknowledged state, and between rows, engine and kernel. */
  readonly differences: readonly string[]
}

type RoundTimes = {
  /** From the last start of a process until every row has settled. */
  readonly settleMs: number
  /** From the end of the round until nothing is left over in the engine and the kernel. */
  readonly cleanMs: number
}

const callerCount = 3
const operationsPerRound = 15
const auditedContents = 4
/** In so many of the rounds on several hosts, one of them is drained, and gets machines again in the next. */
const drainShare = 0.5

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { seed, say } = options
  const random = createRandom(seed)
  const ledger = createLedger()
  const times: RoundTimes[] = []
  const differences: string[] = []
  await using server = await startFaultServer(options.hosts)
  const [{ dataDir }] = server.hosts as [FaultHost]
  await using rows = openRows(dataDir)
  await using operator = openOperator(dataDir)
  const callers = createCallers(callerCount, { api: server.api, ledger, random, rows })

  const roundCount = Math.ceil(options.operations / operationsPerRound)
  for (let round = 1; round <= roundCount && differences.length === 0; round++) {
    const share = (total: number) =>
      Math.floor((total * round) / roundCount) - Math.floor((total * (round - 1)) / roundCount)
    const plan = { operations: share(options.operations), kills: share(options.kills) }
    const { hosts } = server
    const kill = planKills(random.fork(`kills ${round}`), { ...plan, hosts })
    const drained = chooseDrained(random.fork(`drain ${round}`), hosts)
    try {
      if (drained) await operator.drain(drained.name)
      const settleMs = await runRound(server, rows, callers, { operations: plan.operations, kill })
      const { cleanMs, cleaned, differences: found } = await compareWhenSettled(server, rows)
      times.push({ settleMs, cleanMs })
      differences.push(...found)
      if (drained) await operator.undrain(drained.name)
      await auditLedger(callers, await rows.read())
      say(
        `round ${round} of ${roundCount}: ${kill.map(({ name }) => name).join(', ')}; ` +
          (drained ? `${drained.name} was drained; ` : '') +
          `settled after ${seconds(settleMs)}, clean after ${seconds(cleanMs)}` +
          cleaned.map((left) => `\n    cleaned up: ${left}`).join(''),
      )
    } catch (error) {
      differences.push(`round ${round} failed: ${(error as Error).message}`)
    }
    differences.push(...ledger.problems)
  }
  if (differences.length === 0) {
    await auditContents(callers[0]!, auditedContents)
    differences.push(...ledger.problems)
  }
  if (differences.length > 0) {
    for (const host of server.hosts) await keepServerLogs(host.dataDir, options.logFolder)
    await writeFile(join(options.logFolder, 'journal.log'), ledger.journal.join('\n'))
    // A kill of the round that failed may still be under way.
    await server.waitReady().catch(() => {})
    const dump = await rows.dump().catch(String)
    await writeFile(join(options.logFolder, 'rows.json'), dump)
  }
  const failedStarts = server.hosts.reduce((sum, host) => sum + host.failedStarts, 0)
  const moves = await operator.countMoves().catch(() => NaN)
  return { failedStarts, moves, rounds: times, counts: ledger.counts, differences }
}

function chooseDrained(random: Random, hosts: readonly FaultHost[]): FaultHost | undefined {
  return hosts.length > 1 && random.fraction() < drainShare ? random.pick(hosts) : undefined
}

/**
 * Runs callers until there were enough operations and every kill was carried out. Resolves to the time
 * from the last start of a process until every row has settled.
 */
async function runRound(
  server: FaultServer,
  rows: RowsReader,
  callers: readonly Caller[],
  round: { readonly operations: number; readonly kill: readonly Kill[] },
): Promise<number> {
  const { ledger } = callers[0]!
  const { counts } = ledger
  const first = counts.operations
  const waiting = new Set<() => void>()
  const started = () => counts.operations - first
  const waitForOperations = async (count: number) => {
    while (started() < count) await new Promise<void>((resolve) => waiting.add(resolve))
  }
  let isKilling = true
  const killing = runKills(server, round.kill, ledger, waitForOperations).finally(() => {
    isKilling = false
  })
  const work = async (caller: Caller) => {
    while (started() < round.operations || isKilling) {
      const running = runNext(caller, lastingOperations)
      for (const wake of waiting) wake()
      waiting.clear()
      await running
    }
  }
  const settling = killing.then(() => measureSettling(server, rows))
  await Promise.all([...callers.map(work), settling])
  return settling
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
