import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { tables } from '../src/db/columns.ts'
import { NamingClient } from '../src/db/named-statements.ts'
import { send, withRequests } from './endpoint-calls.ts'
import { prepareRequests } from './endpoint-requests.ts'
import { startTestServer } from './harness.ts'
import { findFullScans } from './plan-reader.ts'
import { eventually } from './settled.ts'

/* What holds for each statement of the server: those of all endpoints, and those of the worker. */

const statements = new Map<string, readonly unknown[]>()
collectStatements()
runTimersOften()

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1', COMPUTER_WARM_MACHINES: '1' }
const server = await startTestServer({ after }, { env })
const { db } = server.app
const owner = server.as(await server.user('owner'))
const all = withRequests(await prepareRequests(server, owner))

test('a statement reads no whole table that grows', async () => {
  assert.deepEqual(await callAll(), [])
  await eventually(async () => doneOnceAMinute.every(isStated) || undefined)
  const stated = new Map(statements)
  const copied = ['captures', 'webhooks']
  for (const table of copied) await copyRow(table)
  assert.deepEqual(await findFullScans(db, stated), [])
  for (const table of copied)
    await sql`delete from ${sql.table(table)} where id like 'copy_%'`.execute(db)
})

test('the text of a statement does not depend on how many values it has', () => {
  const lists = /\bin \(\$\d+|\bvalues \([^()]*\$\d[^()]*\), \(/
  assert.deepEqual(
    [...statements.keys()].filter((statement) => lists.test(statement)),
    [],
  )
})

test('a column that a newer version adds fails no call to a server that runs', async () => {
  for (const table of tables) {
    await sql`alter table ${sql.table(table)} add column from_the_future text`.execute(db)
  }
  assert.deepEqual(await callAll(), [])
})

/** Work that the worker does in this order, each as the beginning of its statement. */
const doneOnceAMinute = [
  'update "sessions"',
  'delete from "idempotency_keys"',
  'delete from "login_links"',
  'delete from "activity"',
  'delete from "provider_events"',
]

function isStated(beginning: string): boolean {
  return [...statements.keys()].some((statement) => statement.startsWith(beginning))
}

/** The endpoints that fail although their request is valid. */
async function callAll(): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { name, endpoint, prepare } of all) {
    const request = await prepare()
    const { status } = await send(request.caller ?? owner, endpoint, request)
    if (status >= 500 && !request.refusal) failed.push(`${name}: ${status}`)
  }
  return failed
}

/** Makes a table so large that the planner reads a part of it where it can. */
async function copyRow(table: string): Promise<void> {
  await sql`
    insert into ${sql.table(table)}
    select (jsonb_populate_record(t, jsonb_build_object('id', 'copy_' || n))).*
    from ${sql.table(table)} as t, generate_series(1, 5000) as n
    where t.id = (select min(id) from ${sql.table(table)})`.execute(db)
  await sql`analyze ${sql.table(table)}`.execute(db)
}

/** Those without parameters set a connection up. */
function collectStatements(): void {
  const { query } = NamingClient.prototype
  NamingClient.prototype.query = function (...args: unknown[]) {
    const [text, values] = args
    if (typeof text === 'string' && Array.isArray(values)) statements.set(text, values)
    return Reflect.apply(query, this, args)
  }
}

/** What the worker does once a minute is due twice a second. */
function runTimersOften(): void {
  const original = globalThis.setInterval
  const often = (work: () => void, ms = 0) => original(work, Math.min(ms, 500))
  Object.assign(globalThis, { setInterval: often })
}
