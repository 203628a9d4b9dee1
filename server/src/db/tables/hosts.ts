import type { CaptureId, ImageId, MachineId } from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

export type HostState = 'ready' | 'draining' | 'drained' | 'removed' | 'lost'

export type RelocationPhase = 'copying' | 'stopping' | 'sending' | 'switching' | 'moved' | 'failed'

/** The hosts that run machines. */
export type HostsTables = {
  hosts: {
    name: string
    region: string
    state: Generated<HostState>
    created_at: At
    seen_at: Date | null
    boot_id: string | null
    total_bytes: number | null
    free_bytes: number | null
    memory_total_bytes: number | null
    memory_available_bytes: number | null
    images: Generated<readonly ImageId[]>
    unhealthy_reason: string | null
    unhealthy_since: Date | null
    peer_address: string | null
    peer_port: number | null
    peer_certificate: string | null
  }
  relocations: {
    machine_id: MachineId
    from_host: string
    to_host: string
    phase: RelocationPhase
    capture_id: CaptureId | null
    earlier_capture_id: CaptureId | null
    moves: number
    phase_since: At
  }
  host_invitations: {
    secret_hash: Buffer
    host: string
    expires_at: Date
    used_at: Date | null
  }
  duties: { only_row: Generated<boolean>; host: string | null; held_until: At }
}
