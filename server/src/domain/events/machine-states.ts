import {
  machineTransitions,
  type MachineEventType,
  type MachineId,
  type MachineState,
} from '@computer/contract'
import { sql, type UpdateObject } from 'kysely'
import type { MachineRow, Schema, Tx } from '../../db/database.ts'
import { conflict, illegalMove } from '../../errors.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { insertEvent } from './events.ts'

/** The event that entering a state emits. */
const entryEvents: Record<MachineState, MachineEventType> = {
  creating: 'machine.created',
  running: 'machine.started',
  stopping: 'machine.updated',
  stopped: 'machine.stopped',
  starting: 'machine.updated',
  error: 'machine.failed',
  deleting: 'machine.updated',
}

/**
 * The only writer of `machines.state`: a compare-and-swap on the row's count of moves. It fails if the
 * machine has moved since the row was read, even away and back, so one of two concurrent callers
 * loses. The event is inserted with it.
 */
export async function moveMachine(
  tx: Tx,
  machine: MachineRow,
  to: MachineState,
  change: UpdateObject<Schema, 'machines'> & { readonly message?: string } = {},
): Promise<MachineRow> {
  const allowed: readonly MachineState[] = machineTransitions[machine.state]
  if (!allowed.includes(to)) throw illegalMove(machine.state, to)

  const { message, ...columns } = change
  // After a failed shutdown the machine is still in the same boot.
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
      awaits_host: false,
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
    type: to === 'running' && !boots ? 'machine.updated' : entryEvents[to],
    from: machine.state,
    to,
    message: message ?? null,
  })
  return moved
}

/**
 * Requests an ordinary stop of a machine of any organization, for a reason that its event says. A machine that
 * does not run is left alone. Returns whether it was running; the caller publishes it after the commit.
 */
export async function stopForReason(tx: Tx, id: MachineId, message: string): Promise<boolean> {
  const machine = await lockAnyMachine(tx, id)
  if (machine.state !== 'running') return false
  await moveMachine(tx, machine, 'stopping', { wanted: 'stopped', stop_by_force: false, message })
  return true
}
