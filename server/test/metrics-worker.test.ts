import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { after, test } from 'node:test'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { sendMail } from '../src/domain/accounts/mails.ts'
import { readFigures } from '../src/domain/figures/figures.ts'
import { addFigures } from '../src/metrics/figures.ts'
import { deliverMails } from '../src/worker/mails.ts'
import { startTestServer, type Lifetime, type TestServer } from './harness.ts'
import { startSmtpServer } from './smtp-server.ts'
import { scrape, serveMetrics, type Scrape } from './scrape.ts'
import { eventually } from './settled.ts'
import { startWithPool } from './warm-pool.ts'
import { startReceiver } from './webhook-receiver.ts'
import { startWebhookServer } from './webhook-stage.ts'

/* The metrics of the worker, with the figures of the whole server. */

/** Scrapes until it is so. */
async function until(address: URL, isSo: (now: Scrape) => boolean): Promise<Scrape> {
  return eventually(async () => {
    const now = await scrape(address)
    return isSo(now) ? now : undefined
  })
}

const webhooks = await startWebhookServer({ after })

async function serve(t: Lifetime, { app }: Pick<TestServer, 'app'>): Promise<URL> {
  addFigures(app, { keptMs: 0 })
  return serveMetrics(t, app)
}

test('the worker reports machines by state, what its host has left, and what it did', async (t) => {
  const server = await startTestServer(t)
  const address = await serve(t, server)
  await server.machine()
  await server.machine({ start: false })
  const now = await until(
    address,
    (now) =>
      now.sum('computer_machines') === 2 &&
      now.has('computer_host_disk_free_bytes') &&
      now.sum('computer_worker_steps_running') === 0,
  )
  const host = 'local'
  assert.equal(now.sum('computer_machines', { host, state: 'running' }), 1)
  assert.equal(now.sum('computer_machines', { host, state: 'stopped' }), 1)
  assert.ok(now.sum('computer_host_disk_bytes', { host }) > 0)
  assert.ok(now.sum('computer_host_memory_bytes', { host }) > 0)
  assert.ok(now.has('computer_host_memory_available_bytes'))
  assert.ok(now.has('computer_host_silent_seconds'))
  assert.equal(now.sum('computer_host_healthy', { host }), 1)
  assert.equal(now.sum('computer_host_state', { host, state: 'ready' }), 1)
  assert.equal(now.sum('computer_worker_duties'), 1)
  assert.ok(now.sum('computer_worker_claims_total', { queue: 'machines' }) >= 2)
  assert.ok(now.sum('computer_worker_step_duration_seconds_count', { queue: 'machines' }) >= 2)
  const passes = 'computer_worker_pass_duration_seconds_count'
  assert.ok(now.sum(passes, { pass: 'reconcile', outcome: 'ok' }) >= 1)
})

test('work that nobody does is reported with its age, by the host with the duties alone', async (t) => {
  const server = await startTestServer(t)
  const address = await serve(t, server)
  const { db } = server.app
  await until(address, (now) => now.sum('computer_worker_duties') === 1)
  await server.stopWorkers()
  assert.equal(await readFigures(server.app, 2_000), null)
  await db
    .updateTable('duties')
    .set({ host: 'local', held_until: new Date(4e12) })
    .execute()

  await db
    .transaction()
    .execute((tx) => sendMail(tx, { recipient: 'ada@example.com', subject: 'S', body: 'B' }))
  await db
    .updateTable('mails')
    .set({ next_attempt_at: new Date(0), attempts: 3 })
    .execute()
  const now = await until(address, (now) => now.sum('computer_work_waiting', { kind: 'mails' }) > 0)
  assert.equal(now.sum('computer_work_waiting', { kind: 'mails' }), 1)
  assert.equal(now.sum('computer_work_retrying', { kind: 'mails' }), 1)
  assert.ok(now.sum('computer_work_oldest_seconds', { kind: 'mails' }) > 1e9)
  assert.equal(now.sum('computer_work_oldest_seconds', { kind: 'relocations' }), 0)

  await db
    .updateTable('duties')
    .set({ held_until: new Date(0) })
    .execute()
  const without = await until(address, (now) => !now.has('computer_machines'))
  assert.ok(without.has('process_resident_memory_bytes'))
})

test('attempts to deliver webhooks are counted by outcome, and failed messages are tried again', async (t) => {
  const { server, subscribe, sendTest, outcome } = webhooks
  const address = await serve(t, server)
  const { url } = await startReceiver(t, (response) => {
    response.statusCode = 500
    response.end()
  })
  const { id } = await subscribe(t, url)
  await sendTest(id)
  await outcome(id)
  const now = await until(
    address,
    (now) => now.sum('computer_work_retrying', { kind: 'webhook_deliveries' }) === 1,
  )
  assert.ok(now.sum('computer_webhook_attempts_total', { outcome: 'refused' }) >= 1)
  assert.equal(now.sum('computer_webhook_attempts_total', { outcome: 'accepted' }), 0)
  assert.equal(now.sum('computer_work_waiting', { kind: 'webhook_deliveries' }), 0)
  assert.doesNotMatch(now.text, new RegExp(`${id}|${new URL(url).host}`))
})

test('mails are counted by outcome', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const address = await serve(t, server)
  const { url } = await startSmtpServer(t)
  const send = (subject: string) =>
    server.app.db
      .transaction()
      .execute((tx) => sendMail(tx, { recipient: 'ada@example.com', subject, body: 'B' }))
  const deliverTo = async (smtpUrl: string, outcome: string) => {
    const stopping = new AbortController()
    const app = { ...server.app, config: { ...server.app.config, smtpUrl } }
    const delivering = deliverMails(app, stopping.signal)
    await until(address, (now) => now.sum('computer_mails_total', { outcome }) === 1)
    stopping.abort()
    await delivering
  }
  await send('first')
  await deliverTo(url, 'sent')
  await send('second')
  await deliverTo('smtp://127.0.0.1:1', 'postponed')
})

test('a create that takes a warm machine is a hit', async (t) => {
  const { server } = await startWithPool(t)
  const address = await serve(t, server)
  const ready = await until(
    address,
    (now) => now.sum('computer_warm_machines', { state: 'ready' }) === 1,
  )
  assert.equal(ready.sum('computer_warm_machines_wanted'), 1)
  await server.machine()
  const now = await scrape(address)
  assert.equal(now.sum('computer_warm_machine_creates_total', { outcome: 'hit' }), 1)
})

test('the guide lists every metric', async (t) => {
  const server = await startTestServer(t, { worker: false })
  const { described } = await scrape(await serve(t, server))
  const own = [...described].filter((name) => name.startsWith('computer_'))
  const guide = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const rows = guide.split('\n').filter((line) => line.startsWith('| `computer_'))
  const listed = rows.flatMap((row) => row.split('|')[1]!.match(/computer_\w+/g)!)
  assert.deepEqual(listed.toSorted(), own.toSorted())
})

test('the block of the guide shows what the worker reports', async (t) => {
  const server = await startTestServer(t)
  const address = await serve(t, server)
  await server.machine()
  await until(address, (now) => now.has('computer_machines'))
  const [block] = await readGuide('docs/operations.md', { from: '## Metrics' })
  const env = { COMPUTER_METRICS_PORT: String(Number(address.port) - 2) }
  const terminal = await openTerminal(t, dirname(process.execPath), env)
  const output = await terminal.paste([block!])
  assert.match(output, /^computer_machines\{host="local",state="running"\} 1$/m)
  assert.match(output, /^computer_work_oldest_seconds\{kind="events"\} /m)
})

test('scrapes share the figures, and one that lacks them has all other metrics', async (t) => {
  const server = await startTestServer(t, { worker: false })
  let reads = 0
  const failing = new Proxy(server.app.db, {
    get(db, key) {
      if (key !== 'transaction') return Reflect.get(db, key)
      reads += 1
      throw new Error('the database is away')
    },
  })
  addFigures({ ...server.app, db: failing })
  const address = await serveMetrics(t, server.app)
  const scrapes = await Promise.all([1, 2, 3].map(() => scrape(address)))
  assert.equal(reads, 1)
  for (const now of scrapes) assert.ok(!now.has('computer_machines'))
  const now = await scrape(address)
  assert.equal(now.sum('computer_figures_failed_total'), 1)
  assert.ok(now.has('process_resident_memory_bytes'))
})
