import type { Database, MachineRow } from '../db/database.ts'
import { moving, notRunning } from '../errors.ts'

type Machine = Pick<MachineRow, 'id' | 'state' | 'awaits_host'>

/** Throws unless the machine runs. */
export async function requireRunning(db: Database, machine: Machine): Promise<void> {
  if (machine.state === 'running') return
  await requireNoMove(db, machine)
  throw notRunning(machine)
}

/** Throws while the machine is down on its way to another host. No user has stopped it, and it runs again soon. */
export async function requireNoMove(
  db: Database,
  { id, state }: Pick<Machine, 'id' | 'state'>,
): Promise<void> {
  if (state !== 'stopping') return
  const relocation = await db
    .selectFrom('relocations')
    .select('phase')
    .where('machine_id', '=', id)
    .where('phase', 'in', ['stopping', 'sending', 'switching'])
    .executeTakeFirst()
  if (relocation) throw moving()
}
