import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Actor } from '../../src/actor.ts'
import { openAuthSession } from '../../src/domain/accounts/auth-sessions.ts'
import { addColleague } from '../colleague.ts'
import type { Call, TestServer } from '../harness.ts'
import type { SentRequest } from './request.ts'
import { eventually } from '../settled.ts'
import { givePlan } from '../plans.ts'

/** Ids of an organization's rows by the name of their schema, such as MachineId. */
export type Ids = Readonly<Record<string, readonly string[]>>

/** An organization whose names and emails all contain its mark. */
export type Place = {
  readonly mark: string
  readonly owner: Actor
  readonly call: Call
  /** A running machine that no lifecycle call is sent to. */
  readonly workhorse: string
  /** A standing caller who holds the workhorse's input lease, once there is one. */
  holder?: Call
  ids: Ids
}

/** Rows that requests must not change, such as the credentials that they are sent with. */
export const standing = new Set<string>()

const limits = {
  machines: 40,
  running_machines: 12,
  templates: 25,
  members: 100_000,
  concurrent_sessions: 200,
  snapshots_per_machine: 8,
  largest_size: 'large',
}

/** Makes an organization with rows of every kind. */
export async function furnish(server: TestServer, mark: string, isHome = false): Promise<Place> {
  const { db } = server.app
  const owner = await server.user('owner', isHome ? 'same' : 'stranger')
  await db
    .updateTable('organizations')
    .set({ name: `${mark} organization` })
    .where('id', '=', owner.organizationId)
    .execute()
  await givePlan(db, { terms: limits }, owner.organizationId)
  await markUser(server, owner, mark)
  const call = server.as(owner)
  const workhorse = (await create(call, '/v1/machines', { name: `${mark}-workhorse` })).id
  const place: Place = { mark, owner, call, workhorse, ids: {} }
  for (const table of ['memberships', 'api_keys', 'auth_sessions']) {
    for (const id of await idsOf(server, place, table)) standing.add(id)
  }
  await restock(server, place)
  const stopped = (await idsOf(server, place, 'machines')).find((id) => id !== workhorse)!
  await create(call, '/v1/snapshots', { machine_id: workhorse, name: `${mark} snapshot` })
  await create(call, '/v1/sessions', { machine_id: stopped })
  const { id: session_id } = await create(call, '/v1/sessions', { machine_id: workhorse })
  if (!isHome) await create(call, `/v1/machines/${workhorse}/input-lease`, { session_id })
  await create(call, `/v1/machines/${workhorse}/ports`, { port: 8080, name: `${mark} port` })
  for (const id of [workhorse, stopped]) {
    const secret = { name: mark.toUpperCase(), value: `${mark} value` }
    assert.equal((await call('PUT', `/v1/machines/${id}/secrets`, secret)).status, 200)
  }
  const gone = await create(call, '/v1/machines', { name: `${mark}-gone`, start: false })
  assert.equal((await call('DELETE', `/v1/machines/${gone.id}`)).status, 202)
  await refresh(server, place)
  return place
}

/** Replaces what requests have used up, and removes what they have piled up. */
export async function tend(server: TestServer, place: Place): Promise<void> {
  const { call, workhorse } = place
  const machines = await call('GET', '/v1/machines?limit=100')
  const others = (machines.body.data as { id: string }[]).filter(({ id }) => id !== workhorse)
  for (const { id } of others.slice(5)) await call('DELETE', `/v1/machines/${id}`)
  for (const kind of ['snapshots', 'templates']) {
    const { body } = await call('GET', `/v1/${kind}?limit=100`)
    for (const { id } of body.data.slice(5)) await call('DELETE', `/v1/${kind}/${id}`)
  }
  const sessions = await call('GET', '/v1/sessions?limit=100')
  const open = (sessions.body.data as { id: string; closed_at: string | null }[]).filter(
    ({ closed_at }) => closed_at === null,
  )
  for (const { id } of open.slice(10)) await call('DELETE', `/v1/sessions/${id}`)
  for (const kind of ['processes', 'terminals']) {
    const { body } = await call('GET', `/v1/machines/${workhorse}/${kind}`)
    const running = body.data.filter((one: { state?: string }) => one.state !== 'exited')
    for (const { id } of running) {
      const path = `/v1/machines/${workhorse}/${kind}/${id}`
      if (kind === 'terminals') await call('DELETE', path)
      else await call('POST', `${path}/signal`, { signal: 'SIGKILL' })
    }
  }
  const budgets = await call('GET', '/v1/budgets?limit=100')
  for (const { id } of budgets.body.data.slice(5)) await call('DELETE', `/v1/budgets/${id}`)
  const limit = { type: 'list_price_cents', value: '100' }
  await create(call, '/v1/budgets', { name: `${place.mark} budget ${Date.now()}`, limit })
  await restock(server, place)
  await refresh(server, place)
  await startPrograms(place)
  await holdLease(place)
}

/** Only the holder of the lease may give input. Requests release it, and close its session. */
async function holdLease({ holder, workhorse }: Place): Promise<void> {
  if (!holder) return
  const lease = { ttl_seconds: 3600, force: true }
  const { id: session_id } = await create(holder, '/v1/sessions', { machine_id: workhorse })
  await create(holder, `/v1/machines/${workhorse}/input-lease`, { session_id, ...lease })
}

/** Processes and terminals that requests can name. */
async function startPrograms(place: Place): Promise<void> {
  const path = `/v1/machines/${place.workhorse}`
  const ids = { ProcessId: [] as string[], TerminalId: [] as string[] }
  for (const command of [['cat'], ['echo', 'text']]) {
    ids.ProcessId.push((await create(place.call, `${path}/processes`, { command })).id)
    ids.TerminalId.push((await create(place.call, `${path}/terminals`, { command })).id)
  }
  place.ids = { ...place.ids, ...ids }
}

async function restock(server: TestServer, { mark, owner, call }: Place): Promise<void> {
  const machines = await call('GET', '/v1/machines?limit=100')
  if (machines.body.data.length < 4) {
    await create(call, '/v1/machines', { name: `${mark}-stopped-${Date.now()}`, start: false })
    const { id } = await create(call, '/v1/machines', { name: `${mark}-running-${Date.now()}` })
    await create(call, '/v1/snapshots', { machine_id: id })
  }
  await create(call, '/v1/templates', { name: `${mark} template ${Date.now()}` })
  await create(call, '/v1/invitations', { email: `${mark}-${Date.now()}@example.com` })
  const colleague = await addColleague(server, owner, 'member')
  await markUser(server, colleague, mark)
  await server.apiKey({ name: `${mark} key`, scopes: ['machines:read'], creator: owner })
  await openSession(server, colleague)
}

/** A browser session of a user, in an organization. */
export async function openSession(
  server: TestServer,
  actor: Pick<Actor, 'userId' | 'organizationId'>,
) {
  const nowhere = { address: null, userAgent: null }
  return server.app.db
    .transaction()
    .execute((tx) => openAuthSession(tx, nowhere, actor.userId, actor.organizationId))
}

export async function markUser(server: TestServer, { userId }: Actor, mark: string): Promise<void> {
  await server.app.db
    .updateTable('users')
    .set({ email: `${mark}-${userId.slice(4)}@example.com`, name: `${mark} person` })
    .where('id', '=', userId)
    .execute()
}

const tables = {
  MachineId: 'machines',
  SnapshotId: 'snapshots',
  TemplateId: 'templates',
  BudgetId: 'budgets',
  MembershipId: 'memberships',
  InvitationId: 'invitations',
  ApiKeyId: 'api_keys',
  AuthSessionId: 'auth_sessions',
  SessionId: 'sessions',
  PreviewId: 'previews',
} as const

async function refresh(server: TestServer, place: Place): Promise<void> {
  const ids: Record<string, readonly string[]> = { OrganizationId: [place.owner.organizationId] }
  for (const [name, table] of Object.entries(tables)) ids[name] = await idsOf(server, place, table)
  ids['ImageId'] = [server.imageId]
  place.ids = ids
}

/** The newest rows, with those that are deleted or revoked. */
async function idsOf(server: TestServer, { owner }: Place, table: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where organization_id = ${owner.organizationId}
    order by id desc limit 14`.execute(server.app.db)
  return rows.map(({ id }) => id).filter((id) => !standing.has(id))
}

async function create(call: Call, path: string, body: object) {
  const answer = await call('POST', path, body)
  assert.ok(answer.status < 300, `${path}: ${answer.bytes}`)
  return answer.body as { id: string }
}

/** Postgres' snapshot of the transactions whose rows a query sees now, as text. */
export async function databaseSnapshot(server: TestServer): Promise<string> {
  const now = sql<{ now: string }>`select pg_current_snapshot()::text as now`
  return (await now.execute(server.app.db)).rows[0]!.now
}

/**
 * Whether a machine that the request names was in transit at some time since the database's snapshot. An event
 * has its time before its transaction commits, so it is the snapshot that tells what a request can have met.
 */
export async function wasUnavailable(
  server: TestServer,
  { url, body = '' }: SentRequest,
  since: string,
): Promise<boolean> {
  const ids = `${url} ${body.toString()}`.match(/mch_[0-9a-z]{26}/g) ?? ['']
  const { rows } = await sql`
    select from machines m where id in (${sql.join(ids)}) and (
      state in ('creating', 'starting', 'stopping') or exists (
        select from machine_events e
        where e.machine_id = m.id and e.to_state is not null
          and not pg_visible_in_snapshot(e.xmin::text::xid8, ${since}::pg_snapshot)))
  `.execute(server.app.db)
  return rows.length > 0
}

/** Waits until nothing works on the organization's rows, so that their digests stay. */
export async function untilQuiet(server: TestServer, { owner }: Place): Promise<void> {
  const { db } = server.app
  await sql`update input_leases set expires_at = now() + interval '1 day' where machine_id in (
    select id from machines where organization_id = ${owner.organizationId})`.execute(db)
  await eventually(async () => {
    const { rows } = await sql`
      select from machines m left join captures c on c.machine_id = m.id
      where m.organization_id = ${owner.organizationId}
        and (m.state = 'deleting' and m.deleted_at is null or c.state not in ('ready', 'error'))
    `.execute(db)
    return rows.length === 0 || undefined
  })
}

/** A digest of all rows of an organization and its machines, by table. */
export async function digestOf(
  server: TestServer,
  { owner }: Place,
): Promise<Record<string, string>> {
  const { db } = server.app
  const { rows: columns } = await sql<{ table_name: string; column_name: string }>`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and column_name in ('organization_id', 'machine_id')`.execute(db)
  const byTable = Object.groupBy(columns, ({ table_name }) => table_name)
  const digests: Record<string, string> = {}
  for (const [table, found] of Object.entries(byTable)) {
    const isOfOrganization = found!.some(({ column_name }) => column_name === 'organization_id')
    const own = isOfOrganization
      ? sql`organization_id = ${owner.organizationId}`
      : sql`machine_id in (select id from machines where organization_id = ${owner.organizationId})`
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(one::text, chr(10) order by one::text), '') as text
      from ${sql.table(table)} one where ${own}`.execute(db)
    digests[table] = rows[0]!.text
  }
  return digests
}
