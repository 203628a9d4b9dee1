import { machineTransitions, type MachineEventType, type MachineState } from '@computer/contract'
import { sql, type Updateable } from 'kysely'
import type { MachineRow, Schema, Tx } from '../../db/database.ts'
import { conflict, illegalMove } from '../../errors.ts'
import { insertEvent } from './events.ts'

/** The event that arriving in a state emits. */
const arrival: Record<MachineState, MachineEventType> = {
  creating: 'machine.created',
  running: 'machine.started',
  stopping: 'machine.updated',
  stopped: 'machine.stopped',
  starting: 'machine.updated',
  error: 'machine.failed',
  deleting: 'machine.updated',
}

/**
 * The one place that writes `machines.state`. It holds only if the machine has not moved since the
 * row was read, not even away and back, so of two callers that read the same row one loses. The
 * event goes in with it.
 */
export async function moveMachine(
  tx: Tx,
  machine: MachineRow,
  to: MachineState,
  change: Updateable<Schema['machines']> & { readonly message?: string } = {},
): Promise<MachineRow> {
  const allowed: readonly MachineState[] = machineTransitions[machine.state]
  if (!allowed.includes(to)) throw illegalMove(machine.state, to)

  const { message, ...columns } = change
  // A shutdown that failed leaves the machine in the run it was in.
  const boots = to === 'running' && machine.state !== 'stopping'
  const moved = await tx
    .updateTable('machines')
    .set({
      state: to,
      moves: sql`moves + 1`,
      event_sequence: sql`event_sequence + 1`,
      attempts: 0,
      next_attempt_at: sql`now()`,
      last_error: null,
      ...(boots && { started_at: sql`now()`, ready_at: null }),
      ...(to === 'starting' && { boots: sql`boots + 1` }),
      ...(to === 'stopped' && { stopped_at: sql`now()` }),
      ...columns,
    })
    .where('id', '=', machine.id)
    .where('state', '=', machine.state)
    .where('moves', '=', machine.moves)
    .returningAll()
    .executeTakeFirst()
  if (!moved) {
    const now = await tx
      .selectFrom('machines')
      .select('state')
      .where('id', '=', machine.id)
      .executeTakeFirst()
    throw conflict(
      `the machine is ${now?.state ?? 'gone'} and no longer ${machine.state}; it cannot go to ${to}`,
    )
  }
  await insertEvent(tx, moved, {
    type: to === 'running' && !boots ? 'machine.updated' : arrival[to],
    from: machine.state,
    to,
    message: message ?? null,
  })
  return moved
}
