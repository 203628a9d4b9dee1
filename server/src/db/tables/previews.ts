import type {
  AuthSessionId,
  MachineId,
  OrganizationId,
  PreviewAccess,
  PreviewId,
} from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'
import type { ActorType, Labels } from './attribution.ts'

/** Published ports with their credentials and traffic. */
export type PreviewsTables = {
  preview_hostnames: { label: string; given_at: At }
  previews: {
    id: PreviewId
    organization_id: OrganizationId
    machine_id: MachineId
    port: number
    name: string | null
    access: PreviewAccess
    label: string
    secret_hash: Buffer | null
    created_at: At
    last_request_at: Date | null
  }
  preview_links: {
    token_hash: Buffer
    preview_id: PreviewId
    auth_session_id: AuthSessionId | null
    browser_hash: Buffer | null
    expires_at: Date
  }
  preview_cookies: {
    token_hash: Buffer
    preview_id: PreviewId
    auth_session_id: AuthSessionId | null
    expires_at: Date
  }
  egress_counts: {
    flush_id: string
    machine_id: MachineId
    organization_id: OrganizationId
    bytes: number
    counted_at: At
    actor_type: ActorType | null
    actor_id: string | null
    labels: Generated<Labels>
  }
}
