import type { MachineRow, SnapshotRow, Tx } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { moveMachine } from '../events/machine-states.ts'
import { generateSnapshotName } from '../names.ts'
import { dropSnapshot } from './snapshot-deletion.ts'
import { insertSnapshot } from './snapshots.ts'

/** Moves a machine that ran to `stopped` and requests a capture of its disk as the stop left it. */
export async function enterStopped(
  tx: Tx,
  machine: MachineRow,
  change: Parameters<typeof moveMachine>[3] = {},
): Promise<void> {
  const stopped = await moveMachine(tx, machine, 'stopped', change)
  const id = newId('snp')
  await insertSnapshot(tx, stopped, {
    id,
    name: generateSnapshotName('stopped'),
    origin: 'stop',
    actor: null,
  })
}

/**
 * A machine keeps only the newest ready one of its stop snapshots. A failed one replaces only earlier
 * failed ones.
 */
export async function replaceEarlierStops(
  tx: Tx,
  snapshot: SnapshotRow,
  outcome: 'ready' | 'error',
): Promise<void> {
  const earlier = await tx
    .selectFrom('snapshots as s')
    .innerJoin('captures as c', 'c.id', 's.capture_id')
    .selectAll('s')
    .where('s.machine_id', '=', snapshot.machine_id)
    .where('s.origin', '=', 'stop')
    .where('s.deleted_at', 'is', null)
    .where('s.id', '!=', snapshot.id)
    .where('c.state', 'in', outcome === 'ready' ? ['ready', 'error'] : ['error'])
    .execute()
  for (const stop of earlier) await dropSnapshot(tx, stop)
}
