import type { MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database, MachineRow } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { requireRunning } from '../require-running.ts'

/** The input lease of a machine as its row has it; leases.ts explains it. */
export type Lease = {
  readonly fence: number
  /** The first fence of the current holding, or of the release if there is no holder. */
  readonly since: number
  readonly holder: {
    readonly sessionId: SessionId
    readonly type: 'agent' | 'human' | 'view'
    readonly openedBy: { type: 'user' | 'api_key'; id: string; name: string }
    /** Set for the session of a guest, which is not its opener's to use. */
    readonly guestName: string | null
    /** Its last call was recorded more than ten seconds ago. */
    readonly isQuiet: boolean
  } | null
  /** The session of the holder, if nobody else may look at the screen. */
  readonly privateTo: SessionId | null
  readonly acquiredAt: Date | null
  readonly expiresAt: Date | null
  /** Time to expiry when the row was read, by the database's clock; 0 without a holder. */
  readonly remainingMs: number
}

export async function readLease(db: Database, machineId: MachineId): Promise<Lease> {
  return toLease(await selectLease(db).where('m.id', '=', machineId).executeTakeFirst())
}

/** The boot that input goes to. */
export type InputMachine = Pick<MachineRow, 'id' | 'host' | 'generation' | 'boots'>

/**
 * A running machine and its lease, in one statement, because every input begins with it. Throws unless the
 * machine is of the actor's organization and running.
 */
export async function readInputTarget(
  db: Database,
  actor: Actor,
  id: MachineId,
): Promise<{ readonly machine: InputMachine; readonly lease: Lease }> {
  const row = await selectLease(db)
    .select(['m.host', 'm.generation', 'm.boots', 'm.state', 'm.awaits_host'])
    .where('m.id', '=', id)
    .where('m.organization_id', '=', actor.organizationId)
    .where('m.deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row) throw notFound(`machine ${id}`)
  await requireRunning(db, { id, state: row.state, awaits_host: row.awaits_host })
  const { host, generation, boots } = row
  return { machine: { id, host, generation, boots }, lease: toLease(row) }
}

function selectLease(db: Database) {
  return db
    .selectFrom('machines as m')
    .leftJoin('input_leases as l', 'l.machine_id', 'm.id')
    .leftJoin('sessions as s', (join) =>
      join.onRef('s.id', '=', 'l.session_id').on(sql<boolean>`l.expires_at > clock_timestamp()`),
    )
    .select(['l.fence', 'l.since_fence', 'l.acquired_at', 'l.expires_at'])
    .select(
      sql<number>`extract(epoch from l.expires_at - clock_timestamp()) * 1000`.as('remaining_ms'),
    )
    .select(['s.id', 's.type', 's.opened_by_type', 's.opened_by_id', 's.opened_by_name'])
    .select(['s.guest_name', 's.private'])
    .select(sql<boolean>`s.last_active_at < now() - interval '10 seconds'`.as('is_quiet'))
}

type LeaseRow = Awaited<ReturnType<ReturnType<typeof selectLease>['executeTakeFirst']>>

function toLease(row: LeaseRow): Lease {
  const [fence, since] = [row?.fence ?? 0, row?.since_fence ?? 0]
  if (!row?.id) {
    return { fence, since, ...nobody }
  }
  return {
    fence,
    since,
    holder: {
      sessionId: row.id,
      type: row.type!,
      openedBy: { type: row.opened_by_type!, id: row.opened_by_id!, name: row.opened_by_name! },
      guestName: row.guest_name,
      isQuiet: row.is_quiet,
    },
    privateTo: row.private ? row.id : null,
    acquiredAt: row.acquired_at,
    expiresAt: row.expires_at,
    remainingMs: Number(row.remaining_ms),
  }
}

const nobody = {
  holder: null,
  privateTo: null,
  acquiredAt: null,
  expiresAt: null,
  remainingMs: 0,
} as const
