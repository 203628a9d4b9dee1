import type { CaptureId } from '@computer/contract'
import type { Database } from '../db/database.ts'
import { openMoment, type Moment } from '../db/dump.ts'
import { readDiskRows, type DiskRows } from '../domain/backups/disk-rows.ts'
import { keyOf, type Disk, type DiskKeeper, type KeptDisk } from '../drivers/disk-keeper.ts'
import { newId } from '../ids.ts'

/*
 * The database and the disks at one moment, while the server goes on. First all disks are kept, so that none that the
 * database is about to name can be gone. Then the moment of the database begins, and then the disks of machines are kept
 * again: a disk is as it was at that moment or shortly after. A machine at rest has all of its bytes.
 */

export type Caught = {
  /** Open, for its tables to be read. */
  readonly moment: Moment
  readonly rows: DiskRows
  /** By the keys of their disks. */
  readonly kept: ReadonlyMap<string, KeptDisk>
  /** Ids of rows whose disks the engine does not have. */
  readonly missing: readonly string[]
}

type Parts = {
  readonly databaseUrl: string
  readonly db: Database
  readonly keeper: DiskKeeper
  readonly signal: AbortSignal
}

/** A disk that the engine never had is missing in every attempt. */
const maxAttempts = 4

/** `stored` are the captures that need not be kept. */
export async function catchDisks(
  { databaseUrl, db, keeper, signal }: Parts,
  stored: ReadonlySet<CaptureId>,
): Promise<Caught> {
  const kept = new Map<string, KeptDisk>()
  await keepAll({ keeper, signal }, stored, kept)
  for (let attempt = 1; ; attempt += 1) {
    const moment = await openMoment(databaseUrl)
    try {
      const rows = await readDiskRows(db, moment.snapshot)
      await keepAll({ keeper, signal }, stored, kept)
      const missing = listMissing(rows, stored, kept)
      if (missing.length === 0 || attempt === maxAttempts) {
        return { moment, rows, kept, missing }
      }
    } catch (error) {
      await moment[Symbol.asyncDispose]()
      throw error
    }
    await moment[Symbol.asyncDispose]()
  }
}

/** Keeps what the engine has. A disk that is gone by now stays as it was kept before. */
async function keepAll(
  { keeper, signal }: Pick<Parts, 'keeper' | 'signal'>,
  stored: ReadonlySet<CaptureId>,
  kept: Map<string, KeptDisk>,
): Promise<void> {
  for (const disk of await keeper.listDisks()) {
    signal.throwIfAborted()
    const earlier = kept.get(keyOf(disk))
    // A capture never changes.
    if (disk.kind === 'capture' && (earlier || stored.has(disk.id))) continue
    const id = newId('cap')
    if (!(await keeper.keep(disk, id))) continue
    kept.set(keyOf(disk), { disk, id })
    if (earlier) await keeper.drop(earlier)
  }
}

function listMissing(
  rows: DiskRows,
  stored: ReadonlySet<CaptureId>,
  kept: ReadonlyMap<string, KeptDisk>,
): string[] {
  const machines = rows.machines.filter((row) => row.has_disk && !kept.has(keyOf(machineDisk(row))))
  const captures = rows.captures.filter(
    ({ id }) => !stored.has(id) && !kept.has(keyOf({ kind: 'capture', id })),
  )
  return [...machines, ...captures].map(({ id }) => id)
}

export function machineDisk({ id, generation }: DiskRows['machines'][number]): Disk {
  return { kind: 'machine', ref: { id, generation } }
}
