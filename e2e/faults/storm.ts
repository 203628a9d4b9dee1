import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditContents, auditLedger } from './audit.ts'
import { createCaller, type Caller } from './caller.ts'
import { compareWhenSettled, measureSettling } from './compare.ts'
import { planKills, runKills, type Kill } from './killer.ts'
import { countUp, createLedger, record, type Ledger } from './ledger.ts'
import { disks } from './disk-operations.ts'
import { help } from './help-operations.ts'
import { lifecycle, type Operation } from './operations.ts'
import { keepServerLogs } from '../harness/logs.ts'
import { createRandom } from '../harness/random.ts'
import { openRows, type RowsReader } from './rows.ts'
import { startFaultServer, type FaultServer } from './server.ts'

/*
 * A storm consists of rounds. In each, a few callers run operations while processes of the server are
 * killed; then everything settles and is compared. The seed determines operations and kills, but not how
 * they interleave.
 */
type StormOptions = {
  readonly seed: number
  readonly operations: number
  readonly kills: number
  /** Receives the logs if something differs. */
  readonly logFolder: string
  readonly say: (text: string) => void
}

export type StormResult = {
  readonly failedStarts: number
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

const operations = [...lifecycle, ...disks, ...help]
const callerCount = 3
const machinesPerCaller = 2
const operationsPerRound = 15
const auditedContents = 4

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { seed, say } = options
  const random = createRandom(seed)
  const ledger = createLedger()
  const times: RoundTimes[] = []
  const differences: string[] = []
  await using server = await startFaultServer()
  await using rows = openRows(server.dataDir)
  const callers = Array.from({ length: callerCount }, (_, index) => {
    const name = `caller-${index + 1}`
    return createCaller(name, { api: server.api, ledger, random: random.fork(name) })
  })

  const roundCount = Math.ceil(options.operations / operationsPerRound)
  for (let round = 1; round <= roundCount && differences.length === 0; round++) {
    const share = (total: number) =>
      Math.floor((total * round) / roundCount) - Math.floor((total * (round - 1)) / roundCount)
    const plan = { operations: share(options.operations), kills: share(options.kills) }
    const kill = planKills(random.fork(`kills ${round}`), plan)
    try {
      const settleMs = await runRound(server, rows, callers, { operations: plan.operations, kill })
      const { cleanMs, cleaned, differences: found } = await compareWhenSettled(server, rows)
      times.push({ settleMs, cleanMs })
      differences.push(...found)
      await auditLedger(callers, await rows.read())
      say(
        `round ${round} of ${roundCount}: ${kill.map(({ target }) => target.name).join(', ')}; ` +
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
    await keepServerLogs(server.dataDir, options.logFolder)
    await writeFile(join(options.logFolder, 'journal.log'), ledger.journal.join('\n'))
    await writeFile(join(options.logFolder, 'rows.json'), await rows.dump())
  }
  return { failedStarts: server.failedStarts, rounds: times, counts: ledger.counts, differences }
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
      const { name, run } = choose(caller)
      counts.operations += 1
      countUp(counts.byOperation, name)
      record(ledger, `${caller.name} starts: ${name}`)
      for (const wake of waiting) wake()
      waiting.clear()
      await run()
    }
  }
  const settling = killing.then(() => measureSettling(server, rows))
  await Promise.all([...callers.map(work), settling])
  return settling
}

/** Chooses an operation that is possible now, and a machine for it. */
function choose(caller: Caller): { readonly name: string; run(): Promise<void> } {
  const { machines, random } = caller
  const hasRoom = machines.length < machinesPerCaller
  const fit = ({ needs }: Operation) => {
    if (needs === 'snapshot') return machines.filter((one) => caller.snapshotsOf(one).length > 0)
    return machines.filter(({ states }) => needs === 'any' || (needs && states.has(needs)))
  }
  const operation = random.pickWeighted(
    operations.filter((one) => (hasRoom || !one.adds) && (!one.needs || fit(one).length > 0)),
  )
  const { name } = operation
  if (!operation.needs) return { name, run: () => operation.run(caller) }
  const machine = random.pick(fit(operation))
  return { name, run: () => operation.run(caller, machine) }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
