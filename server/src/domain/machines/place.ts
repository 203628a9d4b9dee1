import type { Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { isWithinReach, wantCopy } from '../disks/copies.ts'
import { placeMachine, type Placing } from '../hosts/placement.ts'

/** Chooses a host, which gets a copy of what the disk is made from if it has none. */
export async function place(tx: Tx, plan: Placing): Promise<string> {
  const { host, hasBase } = await placeMachine(tx, plan)
  if (hasBase || plan.base_capture_id === null) return host
  if (!(await isWithinReach(tx, plan.base_capture_id))) {
    const message = 'no host that has the disk of this machine answers now; try again later'
    throw new ApiError('compute_unavailable', message, { retryAfter: 10 })
  }
  await wantCopy(tx, plan.base_capture_id, host)
  return host
}
