import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { MachineRow } from '../src/db/database.ts'
import { changePlan } from '../src/domain/accounts/plan-changes.ts'
import { advanceStandings } from '../src/domain/billing/standings.ts'
import { moveMachine } from '../src/domain/events/machine-states.ts'
import { lockAnyMachine } from '../src/domain/find-machine.ts'
import { newUlid } from '../src/ids.ts'
import type { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

type Server = Awaited<ReturnType<typeof startTestServer>>

/** Mails are queued, and no worker sends them. */
export const mailsAreQueued = { worker: false, env: { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:9' } }

/** People with organizations of their own, on a server without a worker. */
export function standingPeople(server: Server) {
  const { db } = server.app
  return {
    async person(planId = 'free') {
      const person = await server.signUp()
      const id = person.personalId
      if (planId !== 'free') {
        await db
          .transaction()
          .execute((tx) => changePlan(tx, id, { planId, terms: {}, immediate: true }))
      }
      return { ...person, organizationId: id }
    },
    /** Machines that run, the oldest first. */
    async run(call: Server['call'], count: number): Promise<MachineId[]> {
      const ids: MachineId[] = []
      while (ids.length < count) {
        const name = `machine-${ids.length + 1}-${newUlid().toLowerCase()}`
        // The answer waits until the machine runs.
        const creating = call('POST', '/v1/machines', { name })
        const { id } = await eventually(async () => findCreating(name))
        await moveTo(id, 'running')
        const { status, body } = await creating
        if (status !== 201) throw new Error(JSON.stringify(body))
        ids.push(id)
      }
      return ids
    },
    moveTo,
    async statesOf(organizationId: OrganizationId): Promise<string[]> {
      const rows = await db
        .selectFrom('machines')
        .select('state')
        .where('organization_id', '=', organizationId)
        .orderBy('id')
        .execute()
      return rows.map(({ state }) => state)
    },
    advance: () => advanceStandings(server.app),
    /** The subjects of the mails to an address, the oldest first. */
    async mailsTo(recipient: string) {
      const mails = await db
        .selectFrom('mails')
        .select(['subject', 'body'])
        .where('recipient', '=', recipient)
        .orderBy('id')
        .execute()
      return mails
    },
    /** Everything that must never be deleted for money: machines, and their snapshots. */
    async kept(organizationId: OrganizationId): Promise<string[]> {
      const { rows } = await sql<{ id: string }>`
        select id from machines where organization_id = ${organizationId} and deleted_at is null
          and state <> 'deleting'
        union all select id from snapshots
          where organization_id = ${organizationId} and deleted_at is null
        union all select id from templates where organization_id = ${organizationId}
        order by id`.execute(db)
      return rows.map(({ id }) => id)
    },
  }

  async function findCreating(name: string) {
    return db
      .selectFrom('machines')
      .select('id')
      .where('name', '=', name)
      .where('state', '=', 'creating')
      .executeTakeFirst()
  }

  async function moveTo(id: string, state: 'running' | 'stopped'): Promise<MachineRow> {
    const moved = await db
      .transaction()
      .execute(async (tx) => moveMachine(tx, await lockAnyMachine(tx, id as MachineId), state))
    server.app.changes.publish(id)
    return moved
  }
}
