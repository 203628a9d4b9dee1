import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../server/src/db/database.ts'
import { specOf } from '../server/src/worker/spec.ts'
import { timing } from '../server/src/timing.ts'
import { startTestServer } from '../server/test/harness.ts'

/** How much a simulated server has. A tenth as many organizations as machines share them evenly. */
export type Scale = { readonly machines: number; readonly events: number }

/** A server over a real Postgres and the fake engine. Its caller belongs to the first of the organizations. */
export type Simulated = Awaited<ReturnType<typeof openSimulated>>

const machinesEach = 10
/** The metadata of one machine of each organization, which a list by metadata finds. */
export const metadata = { team: 'search' }

/**
 * All machines are at rest, and the fake engine has each. The first is made through the API, and the rows of all others are
 * copies of its rows.
 */
export async function openSimulated(stack: AsyncDisposableStack, scale: Scale) {
  const lifetime = { after: (end: () => void | Promise<void>) => stack.defer(async () => end()) }
  const server = await startTestServer(lifetime, { plan: 'startup', timing })
  const { app, engine } = server
  const { id } = await server.machine({ start: false, metadata })
  await server.stopWorkers()
  await copyOrganizations(app.db, scale.machines / machinesEach)
  await copyMachines(app.db, id, scale.machines)
  await copyEvents(app.db, id, scale.events)
  const rows = await app.db.selectFrom('machines').selectAll().where('id', '!=', id).execute()
  const driver = engine.driver()
  for (const row of rows) await driver.create(specOf(app, row))
  await sql`vacuum analyze`.execute(app.db)
  return { ...server, machineId: id }
}

/** Numbers in ids keep their order. */
const idOf = (prefix: string) => sql`${prefix}::text || lpad(n::text, 26, '0')`

async function copyOrganizations(db: Database, count: number): Promise<void> {
  const key = {
    organizations: 'id',
    billing_accounts: 'organization_id',
    billing_periods: 'organization_id',
  }
  for (const [table, column] of Object.entries(key)) {
    // A period numbers itself.
    await sql`
      insert into ${sql.table(table)} overriding user value
      select (jsonb_populate_record(one, jsonb_build_object(${column}::text, ${idOf('org_')}))).*
      from ${sql.table(table)} one, generate_series(1, ${count - 1}::int) n`.execute(db)
  }
}

/** Every organization has ten; the first, which has one already, gets nine. */
async function copyMachines(db: Database, id: MachineId, count: number): Promise<void> {
  await sql`
    insert into machines
    select (jsonb_populate_record(m, jsonb_build_object(
      'id', ${idOf('mch_')}, 'name', 'machine-' || n, 'uid_slot', 100000 + n,
      'organization_id', case when n < ${machinesEach} then m.organization_id
        else 'org_' || lpad((n / ${machinesEach})::text, 26, '0') end,
      'metadata', case when n % ${machinesEach} = 0 then m.metadata else '{}' end
    ))).*
    from machines m, generate_series(1, ${count - 1}::int) n where m.id = ${id}`.execute(db)
  await sql`
    insert into input_leases
    select (jsonb_populate_record(l, jsonb_build_object('machine_id', m.id))).*
    from input_leases l, machines m where l.machine_id = ${id} and m.id != ${id}`.execute(db)
}

/** The same events again and again for each machine, as if it had been started and stopped all the time. */
async function copyEvents(db: Database, id: MachineId, count: number): Promise<void> {
  await sql`
    with of_machines as (
      select id, organization_id, event_sequence, row_number() over (order by id) - 1 as number
      from machines where id != ${id}
    ), counted as (select count(*) as machines from of_machines)
    insert into machine_events (
      id, organization_id, machine_id, type, from_state, to_state, sequence, occurred_at, position
    )
    select ${idOf('evt_')}, m.organization_id, m.id, 'machine.updated', null, null,
      m.event_sequence + 1 + n / counted.machines,
      now() - make_interval(secs => ${count}::int - n), 1000 + n
    from generate_series(1, ${count}::int) n
      cross join counted join of_machines m on m.number = n % counted.machines`.execute(db)
  await sql`
    update machines set event_sequence = latest.sequence
    from (select machine_id, max(sequence) as sequence from machine_events group by machine_id) as latest
    where latest.machine_id = machines.id`.execute(db)
  await sql`update event_positions set last = ${count + 1000}`.execute(db)
}
