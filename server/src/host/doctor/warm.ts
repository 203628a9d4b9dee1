import { pino } from 'pino'
import type { Config } from '../../config.ts'
import { withDatabase, type WarmMachineRow } from '../../db/database.ts'
import { findDatabaseDelay } from '../../db/readiness.ts'
import { listWarmTemplates } from '../../domain/disks/templates.ts'
import { countTaken, listWarm } from '../../domain/machines/warm-machines.ts'
import { configuredDatabaseUrl } from '../postgres.ts'
import { ok, warn, type Check, type Finding } from './check.ts'

/** A machine that is not ready after so many tries will hardly be after the next. */
const manyAttempts = 3

export const warmChecks: readonly Check[] = [
  { name: 'warm machines', concerns: 'server', isSlow: true, run: (_, config) => describe(config) },
]

async function describe(config: Config): Promise<Finding> {
  const { warmMachines } = config
  const url = configuredDatabaseUrl(config)
  if ((await findDatabaseDelay(url)) !== null) {
    return ok(`the server keeps ${warmMachines} (COMPUTER_WARM_MACHINES); it does not run`)
  }
  return withDatabase(url, pino({ level: 'silent' }), async (db) => {
    const rows = await listWarm(db, config.host)
    const templates = await listWarmTemplates(db, config.host)
    const wanted = templates.reduce((sum, { warm }) => sum + warm, warmMachines)
    if (wanted === 0) return ok('none are kept (COMPUTER_WARM_MACHINES)')
    const { created, taken } = await countTaken(db)
    const message =
      `${describeReady(rows, wanted)}; of the ${created} machines that were created in the ` +
      `last 24 hours, ${taken} were warm`
    if (rows.every(({ attempts }) => attempts < manyAttempts)) return ok(message)
    return warn(
      `${message}; one could not be made in ${manyAttempts} tries`,
      'Creates work, and take longer. The reason is in logs/worker.log.',
    )
  })
}

function describeReady(rows: readonly WarmMachineRow[], wanted: number): string {
  const ready = rows.filter(({ state }) => state === 'ready')
  const ages = ready.map(({ created_at: since }) => Date.now() - since.getTime())
  const oldest = ages.length === 0 ? '' : ` (the oldest made ${minutes(Math.max(...ages))} ago)`
  return `${ready.length} of ${wanted} ready${oldest}`
}

function minutes(ms: number): string {
  const whole = Math.round(ms / 60_000)
  return whole === 1 ? 'a minute' : `${whole} minutes`
}
