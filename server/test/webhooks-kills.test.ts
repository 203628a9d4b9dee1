import type { MachineId, WebhookId } from '@computer/contract'
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { eventually } from '../../e2e/harness/polling.ts'
import { isSoak, soakSize } from '../../scripts/soak/sizes.ts'
import { activityRow, insertActivity } from '../src/domain/activity/activity.ts'
import { newId } from '../src/ids.ts'
import { startAnswering, verify, type Received } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

/*
 * Events and activity happen while the worker, a process of its own, is killed again and again in the middle of its work.
 * The receiver loses some answers. `npm run soak -- webhooks` has 100,000 deliveries.
 */

const { deliveries, kills } = soakSize('webhooks')
const receivers = 10
const messages = Math.ceil(deliveries / receivers)
const total = messages * receivers
/** The receiver takes one message of so many and closes the connection instead of an answer. */
const oneLostOf = 500
const patience = { withinMs: isSoak() ? 40 * 60_000 : 90_000 }

const { server, subscribe } = await startWebhookServer({ after })
const { db, changes, config } = server.app
const machine = await server.machine({ start: false })
await server.stopWorkers()

test('after kills of the worker at any moment, each message has arrived, under one id', async (t) => {
  const inboxes = Array.from({ length: receivers }, () => new Map<string, string>())
  const secrets: string[] = []
  let [arrived, again] = [0, 0]
  /** Of messages that do not verify, or whose content changes. */
  const wrong: string[] = []
  const { url } = await startAnswering(t, (response, count, message) => {
    const index = Number(/\d+$/.exec(response.req.url!)![0])
    const fault = take(inboxes[index]!, secrets[index]!, message)
    if (fault !== undefined) wrong.push(fault)
    arrived = inboxes.reduce((sum, { size }) => sum + size, 0)
    again = count - arrived
    if (count % oneLostOf === 0) response.destroy()
    else response.end()
  })
  const webhooks: WebhookId[] = []
  for (let index = 0; index < receivers; index++) {
    const { id, secret } = await subscribe(t, `${url}/${index}`, {
      types: ['machine.updated', 'command.run'],
    })
    webhooks.push(id)
    secrets.push(secret)
  }

  const began = performance.now()
  const writing = writeMessages(machine.id)
  let killed = 0
  for (; killed < kills; killed++) {
    const worker = startWorker(t)
    const enough = (total * (killed + 1)) / (kills + 1)
    await eventually(`${enough} have arrived`, async () => arrived >= enough, {
      ...patience,
      everyMs: 5,
    })
    await kill(worker)
  }
  const last = startWorker(t)
  const expected = await writing
  const rows = () =>
    db
      .selectFrom('webhook_deliveries')
      .select(['webhook_id', 'message_id', 'state', 'attempts'])
      .where('webhook_id', 'in', webhooks)
  await eventually(
    'everything is delivered',
    async () => {
      const open = await rows().where('state', '!=', 'delivered').limit(1).execute()
      return arrived === total && open.length === 0
    },
    patience,
  )
  const seconds = (performance.now() - began) / 1000
  await kill(last)

  assert.deepEqual(wrong, [])
  for (const inbox of inboxes) assert.deepEqual([...inbox.keys()].sort(), expected)
  const made = await rows().execute()
  assert.equal(made.length, total, 'each message has one delivery for each webhook')
  assert.ok(
    made.some(({ attempts }) => attempts > 1),
    'kills interrupted some',
  )
  t.diagnostic(
    `${total} deliveries, ${kills} kills, ${again} arrived again, in ${seconds.toFixed(0)} s: ${(total / seconds).toFixed(0)} a second`,
  )
})

/** Keeps a message, and says what is wrong with it. */
function take(inbox: Map<string, string>, secret: string, message: Received): string | undefined {
  const id = message.headers['webhook-id']!
  try {
    const { data } = verify(secret, message)
    if (data.id !== id) return `${id} contains ${data.id}`
  } catch (error) {
    return `${id} does not verify: ${String(error)}`
  }
  const before = inbox.get(id)
  inbox.set(id, message.payload)
  return before === undefined || before === message.payload ? undefined : `${id} has changed`
}

/** Writes as many events as activity. Resolves to their ids in order. */
async function writeMessages(machineId: MachineId): Promise<string[]> {
  const { organization_id: organizationId } = await db
    .selectFrom('machines')
    .select('organization_id')
    .where('id', '=', machineId)
    .executeTakeFirstOrThrow()
  const ids: string[] = []
  while (ids.length < messages) {
    const size = Math.min(100, messages - ids.length)
    const events = Array.from({ length: Math.floor(size / 2) }, () => newId('evt'))
    const activity = Array.from({ length: size - events.length }, (_, number) => {
      const data = { command: `echo ${number}` }
      return activityRow({ organizationId, machineId, type: 'command.run', actor: null, data })
    })
    await sql`
      with machine as (
        update machines set event_sequence = event_sequence + ${events.length}::int
        where id = ${machineId} returning *
      )
      insert into machine_events (id, organization_id, machine_id, type, sequence, occurred_at)
      select event, organization_id, id, 'machine.updated',
        event_sequence - ${events.length}::int + number, clock_timestamp()
      from machine, unnest(${events}::text[]) with ordinality as events (event, number)`.execute(db)
    await insertActivity(db, activity)
    changes.publish(machineId)
    changes.publish(organizationId, 'unplaced')
    ids.push(...events, ...activity.map(({ id }) => id))
  }
  return ids.sort()
}

const program = fileURLToPath(new URL('webhook-worker.ts', import.meta.url))

/** A worker that ends with this process, even when that is killed. */
function startWorker(t: { after(end: () => unknown): void }): ChildProcess {
  const env = {
    ...process.env,
    DATABASE_URL: server.databaseUrl,
    COMPUTER_DATA: '/nonexistent',
    COMPUTER_SECRETS_KEYRING: config.keyringPath,
    COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1',
    COMPUTER_LOG_LEVEL: 'error',
  }
  const argv = ['--pdeathsig', 'KILL', process.execPath, program]
  const worker = spawn('setpriv', argv, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  t.after(() => worker.kill('SIGKILL'))
  return worker
}

async function kill(worker: ChildProcess): Promise<void> {
  assert.equal(worker.exitCode, null, 'the worker did not end by itself')
  const ended = once(worker, 'exit')
  worker.kill('SIGKILL')
  await ended
}
