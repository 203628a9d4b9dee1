import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditContents, auditLedger } from './audit.ts'
import { createCaller, type Caller } from './caller.ts'
import { compareAtRest, measureRest } from './compare.ts'
import { planKills, runKills, type Kill } from './killer.ts'
import { countUp, createLedger, record, type Ledger } from './ledger.ts'
import { disks } from './disk-operations.ts'
import { lifecycle, type Operation } from './operations.ts'
import { createRandom } from '../harness/random.ts'
import { openRows, type RowsReader } from './rows.ts'
import { startFaultServer, type FaultServer } from './server.ts'

/*
 * A storm is a number of rounds. In each, a few callers do what they do while processes of the server
 * are killed; then everything comes to rest and is compared. What is done and what is killed when
 * follows from the seed; which of the two comes first at a given moment does not.
 */
export type StormOptions = {
  readonly seed: number
  readonly operations: number
  readonly kills: number
  /** Where the logs go when something differs. */
  readonly logFolder: string
  readonly say: (text: string) => void
}

export type StormResult = {
  readonly failedStarts: number
  readonly rests: readonly Rest[]
  readonly counts: Ledger['counts']
  /** What differs from what was acknowledged, or between rows, engine and kernel. */
  readonly differences: readonly string[]
}

type Rest = {
  /** From the last start of a process until every row rested. */
  readonly restMs: number
  /** From the end of the round until nothing was left over in the engine and the kernel. */
  readonly cleanMs: number
}

const operations = [...lifecycle, ...disks]
const callerCount = 3
const machinesPerCaller = 2
const operationsPerRound = 15
const contentsToLookInto = 4

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { seed, say } = options
  const random = createRandom(seed)
  const ledger = createLedger()
  const rests: Rest[] = []
  const differences: string[] = []
  await using server = await startFaultServer()
  await using rows = openRows(server.dataDir)
  const callers = Array.from({ length: callerCount }, (_, index) => {
    const name = `caller-${index + 1}`
    return createCaller(name, { api: server.api, ledger, random: random.fork(name) })
  })

  const rounds = Math.ceil(options.operations / operationsPerRound)
  for (let round = 1; round <= rounds && differences.length === 0; round++) {
    const share = (total: number) =>
      Math.floor((total * round) / rounds) - Math.floor((total * (round - 1)) / rounds)
    const plan = { operations: share(options.operations), kills: share(options.kills) }
    const kill = planKills(random.fork(`kills ${round}`), plan)
    try {
      const restMs = await runRound(server, rows, callers, { operations: plan.operations, kill })
      const { cleanMs, cleaned, differences: found } = await compareAtRest(server, rows)
      rests.push({ restMs, cleanMs })
      differences.push(...found)
      await auditLedger(callers, await rows.read())
      say(
        `round ${round} of ${rounds}: ${kill.map(({ target }) => target.name).join(', ')}; ` +
          `at rest after ${seconds(restMs)}, clean after ${seconds(cleanMs)}` +
          cleaned.map((left) => `\n    until then ${left}`).join(''),
      )
    } catch (error) {
      differences.push(`round ${round} broke off: ${(error as Error).message}`)
    }
    differences.push(...ledger.problems)
  }
  if (differences.length === 0) {
    await auditContents(callers[0]!, contentsToLookInto)
    differences.push(...ledger.problems)
  }
  if (differences.length > 0) {
    await server.keepLogs(options.logFolder)
    await writeFile(join(options.logFolder, 'journal.log'), ledger.journal.join('\n'))
    await writeFile(join(options.logFolder, 'rows.json'), await rows.dump())
  }
  return { failedStarts: server.failedStarts, rests, counts: ledger.counts, differences }
}

/**
 * Callers go on until there were enough operations and every kill was carried out. Resolves to the
 * time from the last start of a process until all that was under way had come to rest.
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
  const begun = () => counts.operations - first
  const waitForOperations = async (count: number) => {
    while (begun() < count) await new Promise<void>((resolve) => waiting.add(resolve))
  }
  let isKilling = true
  const killing = runKills(server, round.kill, ledger, waitForOperations).finally(() => {
    isKilling = false
  })
  const work = async (caller: Caller) => {
    while (begun() < round.operations || isKilling) {
      const { name, run } = choose(caller)
      counts.operations += 1
      countUp(counts.byOperation, name)
      record(ledger, `${caller.name} begins: ${name}`)
      for (const wake of waiting) wake()
      waiting.clear()
      await run()
    }
  }
  const resting = killing.then(() => measureRest(server, rows))
  await Promise.all([...callers.map(work), resting])
  return resting
}

/** An operation that is possible now, on a machine that it can be done to. */
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
