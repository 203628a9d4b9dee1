import type { CaptureId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureRow, Database, HostRow, MachineRow, Tx } from '../../db/database.ts'
import { failCapture, loseCapture } from '../disks/capture-outcome.ts'
import { capturesOnlyOn, isWithinReach, wantCopy } from '../disks/copies.ts'
import { endRelocation, listRelocations } from '../disks/relocations.ts'
import { moveMachine } from '../events/machine-states.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { placeMachine } from '../hosts/placement.ts'
import { markLost } from '../hosts/states.ts'
import { forgetWarm, listWarm } from './warm-machines.ts'

/*
 * A host that never comes back is given up, with the disks that no other host has a copy of. Its machines go to other
 * hosts in error: they can be restored to a snapshot that another host has, or deleted. Every step may be repeated, so
 * a call that broke off is made again.
 */

const reason = 'the host that had the disk was lost'

export type Loss = {
  readonly machines: number
  /** Captures that no other host has. */
  readonly captures: number
}

/** Gives up a host that is silent. Its operator vouches that it is off for ever. */
export async function giveUpHost(
  app: Pick<App, 'db' | 'changes'>,
  name: string,
): Promise<HostRow & Loss> {
  const host = await markLost(app.db, name)
  const captures = await loseCaptures(app, name)
  await endRelocations(app.db, name)
  await app.db
    .updateTable('warm_machines')
    .set({ state: 'ending' })
    .where('host', '=', name)
    .execute()
  for (const { id } of await listWarm(app.db, name)) await forgetWarm(app, id)
  const machines = await loseMachines(app, name)
  return { ...host, machines, captures }
}

async function loseCaptures(app: Pick<App, 'db' | 'changes'>, host: string): Promise<number> {
  for (const capture of await listPending(app.db, host)) {
    await failCapture(app, capture, { reason, isDiskGone: true })
  }
  const lost = await listOnlyOn(app.db, host)
  for (const capture of lost) await loseCapture(app, capture, reason)
  // The copies that are left are of captures that other hosts have as well, or that are being removed.
  await app.db.deleteFrom('capture_copies').where('host', '=', host).execute()
  return lost.length
}

async function listPending(db: Database, host: string): Promise<CaptureRow[]> {
  return db
    .selectFrom('captures')
    .innerJoin('machines', 'machines.id', 'captures.machine_id')
    .selectAll('captures')
    .where('captures.state', '=', 'pending')
    .where('machines.host', '=', host)
    .execute()
}

async function listOnlyOn(db: Database, host: string): Promise<CaptureRow[]> {
  return db
    .selectFrom('captures')
    .selectAll()
    .where('id', '=', sql<CaptureId>`any(array(${capturesOnlyOn(host)}))`)
    .execute()
}

/** A machine whose new host has all of its disk arrives there; the others stay with the host that is lost. */
async function endRelocations(db: Database, host: string): Promise<void> {
  for (const { machine_id: id, phase } of await listRelocations(db, host)) {
    if (phase === 'switching') continue
    await db.transaction().execute(async (tx) => {
      await lockAnyMachine(tx, id)
      const relocation = await tx
        .selectFrom('relocations')
        .selectAll()
        .where('machine_id', '=', id)
        .where('phase', '!=', 'switching')
        .executeTakeFirst()
      if (relocation) await endRelocation(tx, relocation)
    })
  }
}

async function loseMachines(app: Pick<App, 'db' | 'changes'>, host: string): Promise<number> {
  const machines = await app.db
    .selectFrom('machines')
    .select('id')
    .where('host', '=', host)
    .where('deleted_at', 'is', null)
    .execute()
  for (const { id } of machines) {
    await app.db.transaction().execute((tx) => loseMachine(tx, host, id))
    app.changes.publish(id)
  }
  return machines.length
}

async function loseMachine(tx: Tx, host: string, id: MachineId): Promise<void> {
  const machine = await lockAnyMachine(tx, id)
  if (machine.host !== host || machine.deleted_at !== null) return
  const lost = machine.state === 'deleting' ? machine : await enterError(tx, machine)
  const plan = { ...lost, base_capture_id: null, wanted: 'stopped' } as const
  const { host: target } = await placeMachine(tx, plan)
  for (const captureId of [machine.base_capture_id, machine.restore_capture_id]) {
    if (captureId && (await isWithinReach(tx, captureId))) await wantCopy(tx, captureId, target)
  }
  await tx
    .updateTable('machines')
    .set({ host: target, claimed_by: null, claimed_until: null, next_attempt_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

async function enterError(tx: Tx, machine: MachineRow): Promise<MachineRow> {
  const change = { wanted: 'stopped', message: reason } as const
  if (machine.state !== 'error') return moveMachine(tx, machine, 'error', change)
  // It waited for its host, or had failed before.
  return tx
    .updateTable('machines')
    .set({ awaits_host: false, wanted: 'stopped' })
    .where('id', '=', machine.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
