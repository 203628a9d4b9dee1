import type { CaptureId, MachineId } from '@computer/contract'
import { sql, type UpdateObject } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, MachineRow, RelocationRow, Schema, Tx } from '../../db/database.ts'
import { moveMachine } from '../events/machine-states.ts'
import { lockAnyMachine } from '../find-machine.ts'
import { readHostState } from '../hosts/hosts.ts'
import { getCapture, insertCapture, releaseCapture } from './captures.ts'
import { wantCopy } from './copies.ts'

/*
 * A relocation takes a machine to another host with its disk. It is a restore onto that host:
 *
 * - `copying`: the disk of the running machine is captured, and the other host gets a copy, while the machine runs on.
 * - `stopping`: the machine goes down.
 * - `sending`: the disk is captured again, and the other host gets what differs. A machine at rest begins here.
 * - `switching`: the machine belongs to the other host, whose worker makes the next generation of its disk from the
 *   copy and starts it again. The disk on its former host stays (`machines.moved_from`).
 * - `moved`: the former host has yet to remove the former disk.
 *
 * Until the next generation is made, every failure leads back to the disk on the former host (`failed`).
 */

/** The message of the event with which a running machine goes down. */
export const moveReason = 'the machine moves to another host of this server'

/** Begins the relocation of a locked machine that runs or is at rest. */
export async function beginRelocation(tx: Tx, machine: MachineRow, toHost: string): Promise<void> {
  const { id, host, moves } = machine
  const captureId = await requestCopy(tx, machine, toHost)
  const phase = machine.state === 'running' ? 'copying' : 'sending'
  await tx
    .insertInto('relocations')
    .values({
      machine_id: id,
      from_host: host,
      to_host: toHost,
      phase,
      capture_id: captureId,
      moves,
    })
    .execute()
}

/**
 * Goes on with a relocation from this host: under the claim of its machine, until the machine belongs to the other
 * host.
 */
export async function advanceRelocation(
  app: Pick<App, 'db' | 'changes'>,
  { machine_id: id, phase }: RelocationRow,
): Promise<void> {
  const next = await app.db.transaction().execute(async (tx) => {
    const machine = await lockAnyMachine(tx, id)
    const relocation = await findRelocation(tx, id)
    if (relocation?.phase !== phase) return relocation
    if (machine.deleted_at !== null || machine.state === 'deleting') {
      await endRelocation(tx, relocation)
    } else if (await isPossible(tx, relocation)) {
      await advance(tx, machine, relocation)
    } else {
      await revertRelocation(tx, machine, relocation)
    }
    return findRelocation(tx, id)
  })
  if (next?.phase !== phase) app.changes.publish(id)
}

/** The relocation of a locked machine. */
export async function findRelocation(tx: Tx, id: MachineId): Promise<RelocationRow | undefined> {
  return tx.selectFrom('relocations').selectAll().where('machine_id', '=', id).executeTakeFirst()
}

/** The machine that was being relocated is down. False if none was: it is an ordinary stop. */
export async function captureStopped(tx: Tx, { id, moves }: MachineRow): Promise<boolean> {
  const machine = await lockAnyMachine(tx, id)
  const relocation = await findRelocation(tx, id)
  if (!relocation || machine.moves !== moves) return false
  if (relocation.phase === 'stopping') await requestLast(tx, machine, relocation)
  return relocation.phase === 'stopping' || relocation.phase === 'sending'
}

/** The next generation of the machine's disk is made on its new host. */
export async function recordMoved(tx: Tx, machine: MachineRow): Promise<void> {
  const relocation = await findRelocation(tx, machine.id)
  if (!relocation) return
  if ((await readHostState(tx, relocation.from_host)) === 'lost') {
    await endRelocation(tx, relocation)
  } else {
    await leaveCaptures(tx, relocation, 'moved')
  }
  // Captures that were requested meanwhile are of the same disk.
  await tx
    .updateTable('captures')
    .set({ generation: machine.last_generation })
    .where('machine_id', '=', machine.id)
    .where('state', '=', 'pending')
    .execute()
}

/** Ends a relocation that cannot go on: the machine stays on its former host, and starts there again. */
export async function revertRelocation(
  tx: Tx,
  machine: MachineRow,
  relocation: RelocationRow,
): Promise<void> {
  await tx
    .updateTable('machines')
    .set({
      host: relocation.from_host,
      moved_from: null,
      // The worker of the other host may hang on to it.
      ...(machine.moved_from !== null && {
        restore_capture_id: null,
        claimed_by: null,
        claimed_until: null,
      }),
      attempts: 0,
      last_error: null,
    })
    .where('id', '=', machine.id)
    .execute()
  await leaveCaptures(tx, relocation, 'failed')
  const isDown = relocation.phase === 'sending' || relocation.phase === 'switching'
  if (isDown && machine.state === 'stopping') {
    await moveMachine(tx, await moveMachine(tx, machine, 'stopped'), 'starting')
  }
}

/** Forgets a relocation that is over. */
export async function endRelocation(tx: Tx, relocation: RelocationRow): Promise<void> {
  await tx.deleteFrom('relocations').where('machine_id', '=', relocation.machine_id).execute()
  await releaseAll(tx, relocation)
}

/** The relocations from a host, of all organizations. */
export async function listRelocations(db: Database, fromHost: string): Promise<RelocationRow[]> {
  return db.selectFrom('relocations').selectAll().where('from_host', '=', fromHost).execute()
}

async function advance(tx: Tx, machine: MachineRow, relocation: RelocationRow): Promise<void> {
  switch (relocation.phase) {
    case 'copying': {
      if (machine.restore_capture_id !== null || !(await isCopied(tx, relocation))) return
      const { state } = machine
      if (state === 'running') {
        await setRelocation(tx, relocation, { phase: 'stopping' })
        const change = { wanted: 'running', stop_by_force: false, message: moveReason } as const
        await moveMachine(tx, machine, 'stopping', change)
      } else if (state === 'stopped' || state === 'error') {
        await requestLast(tx, machine, relocation)
      }
      return
    }
    case 'stopping':
      // It could not be stopped.
      if (machine.state !== 'stopping') await setRelocation(tx, relocation, { phase: 'copying' })
      return
    case 'sending':
      // The machine was started or restored meanwhile, so its disk is another.
      if (machine.moves !== relocation.moves || machine.restore_capture_id !== null) {
        return setRelocation(tx, relocation, { phase: 'copying' })
      }
      if (await isCopied(tx, relocation)) await switchHost(tx, machine, relocation)
      return
    default:
  }
}

/** Captures the disk of a machine that is down. */
async function requestLast(tx: Tx, machine: MachineRow, relocation: RelocationRow): Promise<void> {
  const { capture_id: earlier, earlier_capture_id: earliest } = relocation
  await setRelocation(tx, relocation, {
    phase: 'sending',
    capture_id: await requestCopy(tx, machine, relocation.to_host),
    earlier_capture_id: earlier,
    moves: machine.moves,
  })
  if (earliest) await releaseCapture(tx, earliest)
}

async function requestCopy(tx: Tx, machine: MachineRow, toHost: string): Promise<CaptureId> {
  const { id } = await insertCapture(tx, machine)
  await wantCopy(tx, id, toHost)
  return id
}

async function switchHost(tx: Tx, machine: MachineRow, relocation: RelocationRow): Promise<void> {
  await tx
    .updateTable('machines')
    .set({
      host: relocation.to_host,
      moved_from: relocation.from_host,
      restore_capture_id: relocation.capture_id,
      last_generation: sql`last_generation + 1`,
      attempts: 0,
      next_attempt_at: sql`now()`,
    })
    .where('id', '=', machine.id)
    .execute()
  await setRelocation(tx, relocation, { phase: 'switching' })
}

/** Whether the other host has the copy that was requested last. */
async function isCopied(
  tx: Tx,
  { capture_id: id, to_host: host }: RelocationRow,
): Promise<boolean> {
  const copy = await tx
    .selectFrom('capture_copies')
    .select('id')
    .where('capture_id', '=', id)
    .where('host', '=', host)
    .where('state', '=', 'ready')
    .executeTakeFirst()
  return copy !== undefined
}

/** False once the disk could not be captured or copied, or the other host can take no machine any more. */
async function isPossible(tx: Tx, relocation: RelocationRow): Promise<boolean> {
  const { capture_id: id, to_host: toHost, from_host: fromHost, phase } = relocation
  const target = await tx
    .selectFrom('hosts')
    .select('name')
    .where('name', '=', toHost)
    .where('state', '=', 'ready')
    .where('unhealthy_reason', 'is', null)
    .executeTakeFirst()
  if (!target) return false
  if (phase === 'switching') return true
  if (phase === 'copying' && (await readHostState(tx, fromHost)) !== 'draining') return false
  const { state } = await getCapture(tx, id!)
  const copy = await tx
    .selectFrom('capture_copies')
    .select('id')
    .where('capture_id', '=', id)
    .where('host', '=', toHost)
    .executeTakeFirst()
  return state !== 'error' && copy !== undefined
}

async function setRelocation(
  tx: Tx,
  { machine_id: id }: RelocationRow,
  change: UpdateObject<Schema, 'relocations'>,
): Promise<void> {
  await tx
    .updateTable('relocations')
    .set({ ...change, phase_since: sql`clock_timestamp()` })
    .where('machine_id', '=', id)
    .execute()
}

/** Enters a phase that needs no captures. */
async function leaveCaptures(
  tx: Tx,
  relocation: RelocationRow,
  phase: 'moved' | 'failed',
): Promise<void> {
  await setRelocation(tx, relocation, { phase, capture_id: null, earlier_capture_id: null })
  await releaseAll(tx, relocation)
}

async function releaseAll(tx: Tx, relocation: RelocationRow): Promise<void> {
  for (const id of [relocation.capture_id, relocation.earlier_capture_id])
    if (id) await releaseCapture(tx, id)
}
