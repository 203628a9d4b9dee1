import { sql } from 'kysely'
import type { RelocationRow, Tx } from '../../db/database.ts'
import { endRelocation, findRelocation, revertRelocation } from '../disks/relocations.ts'
import { enterStopped } from '../disks/stop-snapshots.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { readEmptyMemoryRoom } from '../hosts/capacity.ts'

/**
 * Makes one host the host of all machines and captures, because a restore makes all disks there. Its capacity was measured
 * while no machine ran. The other hosts are removed in the rows: whichever belongs to the restored server later joins it
 * under a new name. Returns how many machines are stopped, because they ran on other hosts and this one has no memory for
 * them. Those on their way up go on.
 */
export async function gatherOnHost(tx: Tx, host: string): Promise<number> {
  for (const relocation of await tx.selectFrom('relocations').selectAll().execute()) {
    await endWhereItIs(tx, relocation)
  }
  const stopped = await stopBeyond(tx, host, await readEmptyMemoryRoom(tx, host))
  await tx.updateTable('machines').set({ host }).where('host', '!=', host).execute()
  await gatherCopies(tx, host)
  await tx
    .updateTable('hosts')
    .set({ state: 'removed', unhealthy_reason: null, unhealthy_since: null })
    .where('name', '!=', host)
    .execute()
  await tx
    .updateTable('hosts')
    .set({ state: 'ready', unhealthy_reason: null, unhealthy_since: null })
    .where('name', '=', host)
    .execute()
  return stopped
}

/** The machines of the host itself come first, and then the oldest. */
async function stopBeyond(tx: Tx, host: string, room: number): Promise<number> {
  const machines = await tx
    .selectFrom('machines')
    .selectAll()
    .where('deleted_at', 'is', null)
    .where('state', 'in', ['running', 'starting'])
    .orderBy(sql`host = ${host}`, 'desc')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const beyond = machines
    .slice(room)
    .filter((machine) => machine.host !== host && machine.state === 'running')
  const message = 'the server was restored to a host that has no memory for the machine'
  for (const machine of beyond) await enterStopped(tx, machine, { wanted: 'stopped', message })
  return beyond.length
}

/** The machine has the disk that its row names, from before its next host made another. */
async function endWhereItIs(tx: Tx, relocation: RelocationRow): Promise<void> {
  const machine = await lockAnyMachine(tx, relocation.machine_id)
  if (relocation.phase !== 'moved' && relocation.phase !== 'failed') {
    // Nothing runs here, so a machine that was on its way down is down.
    const phase = relocation.phase === 'stopping' ? 'sending' : relocation.phase
    await revertRelocation(tx, machine, { ...relocation, phase })
  }
  const ended = await findRelocation(tx, machine.id)
  if (ended) await endRelocation(tx, ended)
}

/** Each capture has one copy then, which is there if the capture is complete. */
async function gatherCopies(tx: Tx, host: string): Promise<void> {
  await sql`
    delete from capture_copies as other
    where host != ${host} and exists (
      select from capture_copies kept
      where kept.capture_id = other.capture_id and kept.host != other.host
        and (kept.host = ${host} or kept.host < other.host)
    )`.execute(tx)
  await tx.updateTable('capture_copies').set({ host }).where('host', '!=', host).execute()
  await sql`
    update capture_copies set state = 'ready', attempts = 0
    from captures where captures.id = capture_id and captures.state = 'ready'`.execute(tx)
}
