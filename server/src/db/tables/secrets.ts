import type { MachineId, OrganizationId } from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

/** Secrets of machines and their deliveries. */
export type SecretsTables = {
  machine_secrets: {
    machine_id: MachineId
    name: string
    organization_id: OrganizationId
    version: number
    revision: number
    sealed: Buffer
    delivered_at: Date | null
  }
  secret_deliveries: {
    id: MachineId
    revision: number
    delivered_revision: Generated<number>
    delivered_run: string | null
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
  }
}
