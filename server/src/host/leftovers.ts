import { join } from 'node:path'
import { stopEngine } from './engine.ts'
import { findPostmaster } from './postgres.ts'
import { endProcess, endRecorded, identifyProcess } from './process-record.ts'
import type { Terminal } from './terminal.ts'

const graceMs = 15_000
const programs = ['gateway', 'api', 'worker'] as const

/**
 * Ends processes that a killed server left running on this data folder, which the caller has locked.
 * Each is recognized beyond doubt: by the record of its start, by the engine's exact command line, or by
 * the cluster that a Postgres serves. Machines keep running.
 */
export async function endLeftovers(dataDir: string, terminal: Terminal): Promise<void> {
  const runDir = join(dataDir, 'run')
  for (const name of programs) {
    if (await endRecorded(runDir, name, { signal: 'SIGTERM', graceMs })) {
      terminal.say(`stopped the ${name} of an earlier start`)
    }
  }
  await stopEngine(dataDir)
  const pid = await findPostmaster(dataDir)
  const record = pid === null ? null : identifyProcess(pid)
  if (record) {
    await endProcess(record, { signal: 'SIGINT', graceMs })
    terminal.say('stopped the postgres of an earlier start')
  }
}
