import type { InputLease, MachineId } from '@computer/contract'
import type { Lease } from '../domain/control/lease-row.ts'

/** The input lease on the wire, in responses and channels. */
export function showLease(machineId: MachineId, lease: Lease): InputLease {
  return {
    machine_id: machineId,
    holder: lease.holder && {
      session_id: lease.holder.sessionId,
      type: lease.holder.type,
      opened_by: lease.holder.openedBy,
    },
    fence: lease.fence,
    acquired_at: lease.acquiredAt?.toISOString() ?? null,
    expires_at: lease.expiresAt?.toISOString() ?? null,
  }
}
