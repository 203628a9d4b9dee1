import type {
  CaptureId,
  EventId,
  ImageId,
  MachineEventType,
  MachineId,
  MachineSize,
  MachineState,
  OrganizationId,
  SessionId,
  SessionType,
  TemplateId,
} from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'
import type { ActorType, EventFacts, Labels } from './attribution.ts'

/** Machines with their sessions, leases and events. */
export type MachinesTables = {
  images: {
    id: ImageId
    recipe_hash: string
    name: string
    os: 'linux'
    description: string
    is_default: boolean
    metadata_path: string
    rootfs_path: string
    fingerprint: string | null
    created_at: At
  }
  machines: {
    id: MachineId
    organization_id: OrganizationId
    name: string
    state: MachineState
    os: 'linux'
    size: MachineSize
    image_id: ImageId
    template_id: TemplateId | null
    cpu: number
    memory_mb: number
    disk_gb: number
    region: string
    host: string
    moved_from: string | null
    metadata: Record<string, string>
    created_at: At
    started_at: Date | null
    stopped_at: Date | null
    deleted_at: Date | null
    generation: Generated<number>
    uid_slot: number
    wanted: 'running' | 'stopped'
    stop_by_force: Generated<boolean>
    ready_at: Date | null
    boots: Generated<number>
    moves: Generated<number>
    event_sequence: Generated<number>
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
    last_error: string | null
    base_capture_id: CaptureId | null
    base_bytes: Generated<number>
    restore_capture_id: CaptureId | null
    last_generation: Generated<number>
    created_by_type: ActorType | null
    created_by_id: string | null
    run_by_type: ActorType | null
    run_by_id: string | null
    labels: Generated<Labels>
    requested_id: MachineId | null
    is_frozen: Generated<boolean>
    awaits_host: Generated<boolean>
  }
  warm_machines: {
    id: MachineId
    host: string
    state: Generated<'making' | 'ready' | 'ending'>
    image_id: ImageId
    base_capture_id: CaptureId | null
    size: MachineSize
    cpu: number
    memory_mb: number
    disk_gb: number
    uid_slot: number
    generation: Generated<number>
    agent_build: string
    ready_at: Date | null
    created_at: At
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
  }
  uid_slots: { slot: number; machine_id: MachineId | null }
  sessions: {
    id: SessionId
    organization_id: OrganizationId
    machine_id: MachineId
    type: SessionType
    opened_by_type: 'user' | 'api_key'
    opened_by_id: string
    opened_by_name: string
    created_at: At
    last_active_at: At
    closed_at: Date | null
    connected: Generated<boolean>
    guest_name: string | null
    private: Generated<boolean>
  }
  session_sockets: { id: Generated<string>; session_id: SessionId; seen_at: At }
  input_leases: {
    machine_id: MachineId
    fence: number
    since_fence: Generated<number>
    session_id: SessionId | null
    acquired_at: Date | null
    expires_at: Date | null
  }
  machine_events: {
    id: EventId
    organization_id: OrganizationId
    machine_id: MachineId
    session_id: SessionId | null
    type: MachineEventType
    from_state: MachineState | null
    to_state: MachineState | null
    message: string | null
    sequence: number
    occurred_at: At
    facts: EventFacts | null
    position: number | null
  }
  event_positions: { only_row: Generated<boolean>; last: number }
}
