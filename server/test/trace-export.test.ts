import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { startTracing } from '../src/trace/provider.ts'
import { isTracing, span } from '../src/trace/span.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* Spans that a collector gets. There is one provider in a process, so the tests share it. */

type Attribute = { readonly key: string; readonly value: { readonly stringValue?: string } }
type Span = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly Attribute[]
}
type Batch = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

const batches: Batch[] = []
let answer = (response: ServerResponse): void => void response.end('{}')
const collector = createServer((request, response) => void take(request, response))
async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  assert.equal(request.url, '/v1/traces')
  assert.equal(request.headers['content-type'], 'application/json')
  batches.push((await json(request)) as Batch)
  answer(response)
}
collector.listen(0, '127.0.0.1')
await once(collector, 'listening')
after(() => {
  collector.close()
  collector.closeAllConnections()
})
const { port } = collector.address() as AddressInfo

const said: string[] = []
const note = (_fields: unknown, message?: string) => void said.push(message ?? '')
const tracing = await startTracing({
  service: 'api',
  host: 'first',
  spanLog: null,
  collectorUrl: `http://127.0.0.1:${port}`,
  log: { warn: note, info: note },
})
const server = await startTestServer({ after })

const spans = (): readonly Span[] =>
  batches.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )

test('the collector gets the spans of a request, with the service and the host', async () => {
  assert.ok(isTracing())
  const { id } = await server.machine()
  await server.call('GET', `/v1/machines/${id}`)
  const read = await eventually(async () =>
    spans().find(({ name }) => name === 'GET /v1/machines/{machine_id}'),
  )
  assert.deepEqual(read.attributes, [{ key: 'id', value: { stringValue: id } }])
  const queries = spans().filter(({ parentSpanId }) => parentSpanId === read.spanId)
  assert.ok(queries.some(({ name }) => name.startsWith('query select ')))
  for (const query of queries) assert.equal(query.traceId, read.traceId)
  const { attributes } = batches[0]!.resourceSpans[0]!.resource
  const values = new Map(attributes.map(({ key, value }) => [key, value.stringValue]))
  assert.equal(values.get('service.name'), 'computer-api')
  assert.equal(values.get('host.name'), 'first')
})

test('a request goes on with the trace of its caller', async () => {
  const [traceId, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  await server.call('GET', '/v1/machines', undefined, { traceparent: `00-${traceId}-${parent}-01` })
  const of = await eventually(async () => spans().find((one) => one.traceId === traceId))
  const request = await eventually(async () =>
    spans().find(({ name, traceId: id }) => name === 'GET /v1/machines' && id === of.traceId),
  )
  assert.equal(request.parentSpanId, parent)
})

test('while the collector fails, work goes on, and the log says so once', async () => {
  let failures = 0
  answer = (response) => {
    failures += 1
    response.writeHead(400).end()
  }
  said.length = 0
  await server.call('GET', '/v1/machines')
  await eventually(async () => (failures >= 1 && said.length > 0 ? true : undefined))
  for (let count = 0; count < 10_000; count++) await span('flood', {}, async () => {})
  await eventually(async () => failures >= 2 || undefined)
  assert.equal((await server.call('GET', '/v1/machines')).status, 200)
  assert.deepEqual(said, ['the collector does not take spans; they are dropped until it does'])
  answer = (response) => void response.end('{}')
  await server.call('GET', '/v1/machines')
  await eventually(async () => said.length > 1 || undefined)
  assert.equal(said[1], 'the collector takes spans again')
  assert.ok(spans().filter(({ name }) => name === 'flood').length < 10_000)
})

test('the end sends what is left, and waits for no collector that hangs', async () => {
  answer = () => {}
  await span('last', {}, async () => {})
  await tracing[Symbol.asyncDispose]()
  assert.ok(spans().some(({ name }) => name === 'last'))
})
