import { join } from 'node:path'
import { stopEngine } from './engine.ts'
import { findPostmaster } from './postgres.ts'
import { endProcess, endRecorded, identifyProcess } from './process-record.ts'
import type { Terminal } from './terminal.ts'

const graceMs = 15_000
const programs = ['gateway', 'api', 'worker'] as const

/**
 * Ends what a server that was killed left running on this data folder, which the caller holds. Each
 * is known by what only it can be: the record of its start, the engine's exact command line, the
 * cluster that a Postgres serves. Machines run on.
 */
export async function endLeftovers(dataDir: string, terminal: Terminal): Promise<void> {
  const runDir = join(dataDir, 'run')
  for (const name of programs) {
    if (await endRecorded(runDir, name, { signal: 'SIGTERM', graceMs })) {
      terminal.say(`ended the ${name} of an earlier start`)
    }
  }
  await stopEngine(dataDir)
  const pid = await findPostmaster(dataDir)
  const record = pid === null ? null : identifyProcess(pid)
  if (record) {
    await endProcess(record, { signal: 'SIGINT', graceMs })
    terminal.say('ended the postgres of an earlier start')
  }
}
