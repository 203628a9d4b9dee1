import type { CaptureId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, MachineRow, Tx } from '../../db/database.ts'
import { isUnavailable } from '../../errors.ts'
import { capturesOnlyOn, wantCopy } from '../disks/copies.ts'
import { beginRelocation } from '../disks/relocations.ts'
import { readHostState } from '../hosts/hosts.ts'
import { placeMachine } from '../hosts/placement.ts'

/*
 * A host that is draining gets no new machines. Its worker relocates its machines, some at a time, running ones first,
 * and has other hosts copy the captures that no other host has. Then the host is `drained`, and can be removed.
 */

const machinesAtOnce = 2
const copiesAtOnce = 4

/** Rows that keep a host from being drained. */
export type Remainder = {
  readonly machines: number
  readonly warmMachines: number
  /** Captures that no other host has. */
  readonly captures: number
}

/** Begins what can be begun for a host that is draining. Does nothing for any other. */
export async function drain(app: Pick<App, 'db' | 'config' | 'changes'>): Promise<void> {
  const { host } = app.config
  // Most of the time nothing is to be done, which must not cost a lock.
  if ((await readHostState(app.db, host)) !== 'draining') return
  await app.db.transaction().execute(async (tx) => {
    await tx.selectFrom('hosts').select('name').where('name', '=', host).forUpdate().execute()
    if ((await readHostState(tx, host)) !== 'draining') return
    try {
      await beginRelocations(tx, host)
      await beginCopies(tx, host)
    } catch (error) {
      // No other host has room: it may have some later.
      if (!isUnavailable(error)) throw error
    }
    const { machines, warmMachines, captures } = await countRemainder(tx, host)
    if (machines + warmMachines + captures > 0) return
    await tx.updateTable('hosts').set({ state: 'drained' }).where('name', '=', host).execute()
  })
}

export async function countRemainder(db: Database, host: string): Promise<Remainder> {
  const { rows } = await sql<Remainder>`
    select
      (select count(*) from machines where deleted_at is null and ${host} in (host, moved_from))
        + (select count(*) from relocations where from_host = ${host} and phase = 'moved') as machines,
      (select count(*) from warm_machines where host = ${host}) as "warmMachines",
      (select count(*) from (${capturesOnlyOn(host)}) as captures) as captures`.execute(db)
  return rows[0]!
}

async function beginRelocations(tx: Tx, host: string): Promise<void> {
  const { count } = await tx
    .selectFrom('relocations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('from_host', '=', host)
    .where('phase', 'not in', ['failed', 'moved'])
    .executeTakeFirstOrThrow()
  const room = machinesAtOnce - count
  if (room <= 0) return
  const machines = await tx
    .selectFrom('machines')
    .selectAll()
    .where('host', '=', host)
    .where('deleted_at', 'is', null)
    .where('state', 'in', ['running', 'stopped', 'error'])
    .where('restore_capture_id', 'is', null)
    .where(sql<boolean>`not exists (select from relocations r where r.machine_id = machines.id)`)
    .orderBy(sql`state = 'running'`, 'desc')
    .orderBy('id')
    .limit(room)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  for (const machine of machines) {
    const plan = { ...machine, base_capture_id: null, wanted: wantedOf(machine) }
    const { host: target } = await placeMachine(tx, plan)
    if (hasDisk(machine)) await beginRelocation(tx, machine, target)
    else await reassign(tx, machine, target)
  }
}

function wantedOf({ state }: MachineRow): 'running' | 'stopped' {
  return state === 'running' ? 'running' : 'stopped'
}

/** A machine whose creation failed has none. */
function hasDisk(machine: MachineRow): boolean {
  return machine.started_at !== null || machine.stopped_at !== null
}

async function reassign(tx: Tx, machine: MachineRow, host: string): Promise<void> {
  await tx.updateTable('machines').set({ host }).where('id', '=', machine.id).execute()
  if (machine.base_capture_id) await wantCopy(tx, machine.base_capture_id, host)
}

/** Captures of machines that are relocated go with them as far as they are needed for that. */
async function beginCopies(tx: Tx, host: string): Promise<void> {
  const { rows } = await sql<{ id: CaptureId; isWanted: boolean }>`
    select id, exists (
      select from capture_copies copy where copy.capture_id = captures.id and copy.state = 'wanted'
    ) as "isWanted"
    from (${capturesOnlyOn(host)}) as captures
    order by "isWanted" desc, id
    limit ${sql.lit(copiesAtOnce)}`.execute(tx)
  for (const { id, isWanted } of rows) {
    if (isWanted) continue
    const { image_id: imageId } = await tx
      .selectFrom('captures')
      .select('image_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const plan = {
      region: '',
      image_id: imageId,
      base_capture_id: null,
      wanted: 'stopped',
    } as const
    await wantCopy(tx, id, (await placeMachine(tx, plan)).host)
  }
}
