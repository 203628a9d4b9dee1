import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow, Tx } from '../../db/database.ts'
import { isUnavailable } from '../../errors.ts'
import { inMs } from '../claims.ts'
import { moveMachine } from '../events/machine-states.ts'
import { place } from './place.ts'

/*
 * A host that is restarted, or whose worker gives no sign of life for long, has ended what ran there, as far as anybody
 * can tell. These machines are in error until the host is back and starts them again (worker/reconcile.ts). Their
 * disks are where they were.
 */

/** Ends what runs on a host that is silent. Machines that have no disk yet are made elsewhere. */
export async function endSilentRuns(
  app: Pick<App, 'db' | 'changes' | 'timing'>,
  host: string,
): Promise<void> {
  const affected = await app.db.transaction().execute(async (tx) => {
    const silent = await tx
      .selectFrom('hosts')
      .select('name')
      .where('name', '=', host)
      .where('seen_at', '<', inMs(-app.timing.hostGoneMs))
      .forUpdate()
      .executeTakeFirst()
    if (!silent) return []
    const placed = await placeAgain(tx, host)
    return [...placed, ...(await endRuns(tx, host, 'the host of the machine does not answer'))]
  })
  for (const id of affected) app.changes.publish(id)
}

/**
 * Has other hosts make what is being created on a host whose engine does not answer. What runs there goes on, and so do
 * its disks.
 */
export async function createElsewhere(
  app: Pick<App, 'db' | 'changes'>,
  host: string,
): Promise<void> {
  const placed = await app.db.transaction().execute(async (tx) => {
    const unhealthy = await tx
      .selectFrom('hosts')
      .select('name')
      .where('name', '=', host)
      .where('unhealthy_reason', 'is not', null)
      .forUpdate()
      .executeTakeFirst()
    return unhealthy ? placeAgain(tx, host) : []
  })
  for (const id of placed) app.changes.publish(id)
}

/** Puts the machines that run on a host into error, from where its worker starts them again. */
export async function endRuns(tx: Tx, host: string, message: string): Promise<MachineId[]> {
  const machines = await lockIn(tx, host, ['running', 'starting'])
  for (const machine of machines) {
    await moveMachine(tx, machine, 'error', { wanted: 'running', awaits_host: true, message })
  }
  return machines.map(({ id }) => id)
}

/** Places machines that are being created on other hosts. A machine that no other host can make waits for this one. */
async function placeAgain(tx: Tx, host: string): Promise<MachineId[]> {
  const placed: MachineId[] = []
  for (const machine of await lockIn(tx, host, ['creating'])) {
    const target = await findPlace(tx, machine)
    if (target === null) continue
    await tx
      .updateTable('machines')
      .set({
        host: target,
        is_frozen: false,
        generation: sql`last_generation + 1`,
        last_generation: sql`last_generation + 1`,
        // The worker of the silent host may still be at it.
        moves: sql`moves + 1`,
        claimed_by: null,
        claimed_until: null,
        attempts: 0,
        next_attempt_at: sql`now()`,
      })
      .where('id', '=', machine.id)
      .execute()
    placed.push(machine.id)
  }
  return placed
}

async function findPlace(tx: Tx, machine: MachineRow): Promise<string | null> {
  try {
    return await place(tx, machine)
  } catch (error) {
    if (isUnavailable(error)) return null
    throw error
  }
}

async function lockIn(
  tx: Tx,
  host: string,
  states: readonly MachineRow['state'][],
): Promise<MachineRow[]> {
  return tx
    .selectFrom('machines')
    .selectAll()
    .where('host', '=', host)
    .where('deleted_at', 'is', null)
    .where('state', 'in', states)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}
