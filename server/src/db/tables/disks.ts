import type {
  CaptureId,
  ImageId,
  MachineId,
  MachineSize,
  OrganizationId,
  SnapshotId,
  SnapshotOrigin,
  SnapshotState,
  TemplateId,
} from '@computer/contract'
import type { Generated, GeneratedAlways } from 'kysely'
import type { At } from './at.ts'
import type { ActorType, Labels } from './attribution.ts'

/** Captures of disks, the rows that name them, and meters. */
export type DisksTables = {
  captures: {
    id: CaptureId
    organization_id: OrganizationId
    machine_id: MachineId
    generation: number
    image_id: ImageId
    disk_gb: number
    state: SnapshotState
    size_bytes: number | null
    created_at: At
    completed_at: Date | null
    error: string | null
    before_restore: Generated<boolean>
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
    captured_by_type: ActorType | null
    captured_by_id: string | null
  }
  snapshots: {
    id: SnapshotId
    organization_id: OrganizationId
    machine_id: MachineId
    capture_id: CaptureId
    name: string
    origin: SnapshotOrigin
    created_at: At
    deleted_at: Date | null
  }
  templates: {
    id: TemplateId
    organization_id: OrganizationId
    name: string
    description: string
    image_id: ImageId
    size: MachineSize
    capture_id: CaptureId | null
    snapshot_id: SnapshotId | null
    source_machine_id: MachineId | null
    created_at: At
    warm: Generated<number>
  }
  meter_intervals: {
    id: Generated<number>
    organization_id: OrganizationId
    machine_id: MachineId
    meter: 'compute' | 'hot_storage' | 'cold_storage'
    size: MachineSize | null
    capture_id: CaptureId | null
    bytes: number | null
    started_at: Date
    ended_at: Date | null
    actor_type: ActorType | null
    actor_id: string | null
    labels: Generated<Labels>
  }
  capture_copies: {
    id: GeneratedAlways<string>
    capture_id: CaptureId
    host: string
    state: Generated<'wanted' | 'ready'>
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
  }
}
