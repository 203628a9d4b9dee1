import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SpanLine } from '../server/src/trace/lines.ts'
import { describeRun } from './trace.ts'

function spanLine(span: string, start: number, ms: number, more: Partial<SpanLine> = {}): SpanLine {
  const ids = { trace_id: more.parent_id ?? span, span_id: span }
  return { msg: 'span', name: 'api', span, start_ms: 1_000 + start, ms, ...ids, ...more }
}

test('a run is described as a tree with offsets and shares, and the time outside of all spans', () => {
  const lines = describeRun({ startMs: 1_000, ms: 100 }, [
    spanLine('request', 10, 40, { id: 'mch_1' }),
    spanLine('query', 20, 10, { parent_id: 'request' }),
    spanLine('tiny', 31, 0.1, { parent_id: 'request' }),
    spanLine('step', 40, 50, { id: 'mch_1', name: 'worker' }),
  ])
  assert.deepEqual(
    lines.map((line) => line.trim().split(/ {2,}/)),
    [
      ['+10.0', '40.0', '40.0 %', 'api: request'],
      ['+20.0', '10.0', '10.0 %', 'query'],
      ['1 shorter'],
      ['+40.0', '50.0', '50.0 %', 'worker: step'],
      ['20.0', '20.0 %', 'outside of all spans'],
    ],
  )
})

test('spans of other times and background work without a row are left out', () => {
  const spans = [
    spanLine('earlier', -50, 50, { id: 'mch_1' }),
    spanLine('later', 100, 5, { id: 'mch_1' }),
    spanLine('sweep', 10, 50),
  ]
  assert.deepEqual(describeRun({ startMs: 1_000, ms: 100 }, spans), [])
})
