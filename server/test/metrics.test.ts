import assert from 'node:assert/strict'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, test } from 'node:test'
import { listenForMetrics, metricsPort } from '../src/metrics/listener.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { scrape, serveMetrics } from './scrape.ts'
import { view } from './screen-viewer.ts'
import { eventually } from './settled.ts'

/* The metrics of the API and of the gateway, and their listener. */

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const address = await serveMetrics({ after }, server.app)
const { call } = server

test('a request is counted by its route, its method and the class of its status', async () => {
  const before = await scrape(address)
  const { id } = await server.machine()
  await call('GET', `/v1/machines/${id}`)
  await call('GET', '/v1/machines/mch_00000000000000000000000000')
  await call('GET', '/nowhere-at-all')
  const now = await scrape(address)
  const requests = 'computer_http_request_duration_seconds_count'
  const count = (labels: Record<string, string>) =>
    now.sum(requests, labels) - before.sum(requests, labels)
  const one = { method: 'GET', route: '/v1/machines/:machine_id' }
  assert.equal(count({ ...one, status: '2xx' }), 1)
  assert.equal(count({ ...one, status: '4xx' }), 1)
  assert.equal(count({ method: 'POST', route: '/v1/machines', status: '2xx' }), 1)
  assert.equal(count({ method: 'any', route: 'none', status: '4xx' }), 1)
  assert.doesNotMatch(now.text, /mch_|nowhere|Bearer/)
})

test('calls to the engine and to agents are counted by their kind and outcome', async () => {
  const before = await scrape(address)
  const { id } = await server.machine()
  await call('GET', `/v1/machines/${id}/files/content?path=/no/such/file`)
  const now = await scrape(address)
  const grown = (name: string, labels: Record<string, string>) =>
    now.sum(name, labels) - before.sum(name, labels)
  const engine = 'computer_engine_call_duration_seconds_count'
  assert.ok(grown(engine, { method: 'create', outcome: 'ok' }) >= 1)
  assert.ok(grown(engine, { method: 'start', outcome: 'ok' }) >= 1)
  const guest = 'computer_guest_call_duration_seconds_count'
  assert.ok(grown(guest, { call: 'POST /identity', outcome: 'ok' }) >= 1)
  assert.equal(grown(guest, { call: 'GET /files/content', outcome: 'refused' }), 1)
})

test('viewers and terminals are counted while they are open', async () => {
  const { id } = await server.machine()
  const { body: terminal } = await call('POST', `/v1/machines/${id}/terminals`, {})
  const headers = { authorization: `Bearer ${server.key}` }
  const open = async (channel: string) =>
    (await scrape(address)).sum('computer_gateway_connections', { channel })
  const [viewers, terminals] = [await open('screen'), await open('terminal')]

  const viewer = await view(gateway, id, server.key)
  const shell = await gateway.connect(`/v1/machines/${id}/terminals/${terminal.id}`, { headers })
  await gateway.connect('/v1/events', { headers })
  assert.equal(await open('screen'), viewers + 1)
  assert.equal(await open('terminal'), terminals + 1)
  assert.equal(await open('organization_events'), 1)

  viewer.socket.socket.close()
  shell.socket.close()
  await eventually(async () => (await open('screen')) === viewers || undefined)
  await eventually(async () => (await open('terminal')) === terminals || undefined)
  const opened = 'computer_gateway_connections_opened_total'
  assert.ok((await scrape(address)).sum(opened, { channel: 'screen' }) >= 1)
})

test('a create without a warm machine is a miss, and one that starts nothing is neither', async () => {
  const misses = async () =>
    (await scrape(address)).sum('computer_warm_machine_creates_total', { outcome: 'miss' })
  const before = await misses()
  await server.machine({ start: false })
  assert.equal(await misses(), before)
  await server.machine()
  assert.equal(await misses(), before + 1)
})

test('the pool of connections and the process itself are measured', async () => {
  const now = await scrape(address)
  assert.equal(now.sum('computer_database_connections_max'), 12)
  assert.ok(now.sum('computer_database_connections') >= 1)
  assert.ok(now.has('computer_database_requests_waiting'))
  assert.ok(now.sum('process_resident_memory_bytes') > 0)
  assert.ok(now.sum('process_open_fds') > 0)
  assert.ok(now.has('nodejs_eventloop_lag_p99_seconds'))
})

test('the listener serves its one path, to loopback alone', async () => {
  for (const path of ['/', '/metrics/', '/healthz', '/v1/machines'])
    assert.equal((await fetch(new URL(path, address))).status, 404, path)
  assert.equal((await fetch(address, { method: 'POST' })).status, 404)
  assert.equal((await fetch(`${address}?from=prometheus`)).status, 200)
  const others = Object.values(networkInterfaces())
    .flat()
    .flatMap((one) => (one && !one.internal && one.family === 'IPv4' ? [one.address] : []))
  for (const host of others) {
    const refused = await new Promise<unknown>((resolve) => {
      request({ host, port: address.port, path: '/metrics' }, resolve).once('error', resolve).end()
    })
    assert.equal((refused as NodeJS.ErrnoException).code, 'ECONNREFUSED', host)
  }
})

test('a port that is taken costs the metrics and nothing else', async () => {
  assert.equal(await listenForMetrics(server.app, Number(address.port)), null)
})

test('the roles have consecutive ports, and none if the first is 0', () => {
  const { config } = server.app
  const ports = (first: number) =>
    (['api', 'gateway', 'worker'] as const).map((role) =>
      metricsPort({ ...config, metricsPort: first }, role),
    )
  assert.equal(config.metricsBind, '127.0.0.1')
  assert.deepEqual(ports(config.metricsPort), [7085, 7086, 7087])
  assert.deepEqual(ports(0), [null, null, null])
})
