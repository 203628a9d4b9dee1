import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WrittenSpan } from '../src/trace/lines.ts'
import { recordSpans } from '../src/trace/provider.ts'
import { detectTracing, isTracing, span } from '../src/trace/span.ts'
import { startTestServer } from './harness.ts'

test('without a provider a span is a plain call', async () => {
  detectTracing()
  assert.equal(isTracing(), false)
  assert.equal(await span('work', {}, async () => 7), 7)
})

const lines: WrittenSpan[] = []

test('the spans of a creation show its request, its queries and its steps with the id of the row', async (t) => {
  await recordSpans((line) => lines.push(line))
  assert.equal(isTracing(), true)
  const server = await startTestServer(t)
  const startedMs = Date.now()
  const machine = await server.machine()
  await server.stopWorkers()
  const tookMs = Date.now() - startedMs

  const ofMachine = lines.filter(({ id }) => id === machine.id)
  const request = ofMachine.find((line) => line.span === 'POST /v1/machines')
  const step = ofMachine.find((line) => line.span === 'step creating')
  assert.ok(request && step, lines.map((line) => line.span).join())
  assert.ok(Math.abs(request.start_ms - startedMs) < 60_000, String(request.start_ms))
  assert.ok(request.ms > 0 && request.ms <= tookMs + 5, `${request.ms} of ${tookMs}`)

  const within = (parent: WrittenSpan) => lines.filter((line) => line.parent_id === parent.span_id)
  const queries = within(request).map((line) => line.span)
  assert.ok(queries.includes('query insert machines'), queries.join())
  const boot = within(step).find((line) => line.span === 'boot')
  assert.ok(boot, 'the boot is part of the step')
  assert.equal(boot.id, machine.id)
  const calls = within(boot).map((line) => line.span)
  assert.ok(calls.includes('guest POST /identity'), calls.join())
  for (const part of within(step)) assert.equal(part.trace_id, step.trace_id)
})

test('a span has the message of its error, which passes through', async () => {
  const failure = new Error('no such thing')
  const work = span('work', { id: 'mch_1' }, () => Promise.reject(failure))
  await assert.rejects(work, failure)
  const { id, error } = lines.find((line) => line.span === 'work')!
  assert.deepEqual({ id, error }, { id: 'mch_1', error: 'no such thing' })
})

test('no span has the content of a request', async (t) => {
  const server = await startTestServer(t)
  await server.machine({ name: 'very-own-name' })
  assert.doesNotMatch(JSON.stringify(lines), /very-own-name/)
})
