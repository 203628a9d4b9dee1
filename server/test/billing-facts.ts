import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import { monthStart } from './billing-clock.ts'
import type { TestServer } from './harness.ts'

/** New organizations, and what they used. */
export function billingFacts(server: TestServer) {
  const { db } = server.app
  return {
    async newOrganization() {
      const actor = await server.user('owner', 'stranger')
      return { call: server.as(actor), organizationId: actor.organizationId }
    },
    /** Uses something of a machine of its own, whose id it returns. */
    async use(
      organizationId: OrganizationId,
      { hours, meter = 'compute', size, bytes, apiKeyId, labels = {} }: Use,
    ): Promise<string> {
      const { id } = await server.machine({ start: false })
      // It takes no place of the plan.
      await sql`update machines set deleted_at = now() where id = ${id}`.execute(db)
      const first = await db
        .selectFrom('billing_periods')
        .select('starts_at')
        .where('organization_id', '=', organizationId)
        .orderBy('starts_at')
        .limit(1)
        .executeTakeFirstOrThrow()
      const isWholeMonth = first.starts_at.getUTCDate() === 1 && first.starts_at.getUTCHours() === 0
      const start = isWholeMonth ? first.starts_at : monthStart(-1)
      await db
        .insertInto('meter_intervals')
        .values({
          organization_id: organizationId,
          machine_id: id,
          meter,
          size: size ?? null,
          capture_id: null,
          bytes: bytes ?? null,
          ...(apiKeyId && { actor_type: 'api_key', actor_id: apiKeyId }),
          labels: JSON.stringify(labels) as never,
          started_at: start,
          ended_at: new Date(start.getTime() + hours * 3_600_000),
        })
        .execute()
      return id
    },
  }
}

type Use = {
  /** From the beginning of the first period on if that is a whole month, else of last month. */
  readonly hours: number
  readonly meter?: 'compute' | 'hot_storage' | 'cold_storage'
  readonly size?: 'small' | 'standard' | 'large'
  readonly bytes?: number
  readonly apiKeyId?: string
  readonly labels?: Readonly<Record<string, string>>
}
