import type { CaptureId, ImageId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { diskFull, hasDiskRoom, hasMemoryRoom, machinesOfHost, memoryFull } from './capacity.ts'

/*
 * The choice of a host for a new machine, in the transaction that creates it. The engine's own choice knows neither
 * memory nor who waits, and counts captures as machines.
 */

export type Placing = {
  readonly region: string
  readonly image_id: ImageId
  /** The disk is made from it. */
  readonly base_capture_id: CaptureId | null
  readonly wanted: 'running' | 'stopped'
}

/** A host that is silent for longer than this is the last choice. */
const freshFor = sql`interval '10 seconds'`

/**
 * The host for a new machine: with a copy of its disk if there is one with room, then in its region, and then the one
 * with the least memory promised to machines. Throws while none has room.
 */
export async function placeMachine(tx: Tx, plan: Placing): Promise<Placed> {
  const { rows } = await sql<Candidate>`
    select name, ${hasDiskRoom} as "hasDiskRoom", ${hasMemoryRoom} as "hasMemoryRoom",
      ${plan.base_capture_id === null ? sql`true` : hasCapture(plan.base_capture_id)} as "hasBase"
    from hosts, lateral ${machinesOfHost} as machines
    where hosts.state = 'ready' and unhealthy_reason is null
    order by
      "hasBase" desc,
      coalesce(seen_at > clock_timestamp() - ${freshFor}, false) desc,
      ${plan.image_id} = any(images) desc,
      region = ${plan.region} desc,
      machines.memory_mb,
      name`.execute(tx)
  const withDisk = rows.filter((host) => host.hasDiskRoom)
  const isStarted = plan.wanted === 'running'
  const chosen = withDisk.find((host) => !isStarted || host.hasMemoryRoom)
  if (chosen) return { host: chosen.name, hasBase: chosen.hasBase }
  if (withDisk.length > 0) throw memoryFull()
  if (rows.length > 0) throw diskFull()
  throw new ApiError('compute_unavailable', 'no host of this server can take a machine now', {
    retryAfter: 10,
  })
}

export type Placed = {
  readonly host: string
  /** False if the host has to get a copy of the capture first. */
  readonly hasBase: boolean
}

type Candidate = {
  readonly name: string
  readonly hasBase: boolean
  readonly hasDiskRoom: boolean
  readonly hasMemoryRoom: boolean
}

/** The host of a row of `hosts` has the capture, or it will be made there: on the host of its machine. */
export function hasCapture(id: CaptureId): RawBuilder<boolean> {
  return sql<boolean>`(
    exists (
      select from capture_copies c
      where c.capture_id = ${id} and c.host = hosts.name and c.state = 'ready'
    )
    or exists (
      select from captures c join machines m on m.id = c.machine_id
      where c.id = ${id} and c.state = 'pending' and m.host = hosts.name
    )
  )`
}
