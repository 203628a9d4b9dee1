import { SpanStatusCode, type HrTime } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import { pino, type DestinationStream } from 'pino'

/** A span that has ended. */
export type WrittenSpan = {
  readonly span: string
  /** Spans of one request or one step share it. */
  readonly trace_id: string
  readonly span_id: string
  readonly parent_id?: string
  /** The row that the work is about; inherited from the parent. */
  readonly id?: string
  /** Milliseconds since 1970. */
  readonly start_ms: number
  readonly ms: number
  readonly error?: string
  readonly [attribute: string]: unknown
}

/** Its line of JSON in the log of the service `name`. */
export type SpanLine = WrittenSpan & { readonly msg: 'span'; readonly name: string }

/** Writes spans to the log of the service, whatever the level of its other lines. */
export function logLines(
  service: string,
  destination: DestinationStream,
): (line: WrittenSpan) => void {
  const log = pino({ name: service }, destination)
  return (line) => log.info(line, 'span')
}

/** Passes each span to `write` when it ends. */
export function createLineWriter(write: (line: WrittenSpan) => void): SpanProcessor {
  return {
    onStart() {},
    onEnd: (span) => write(describe(span)),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}

function describe(span: ReadableSpan): WrittenSpan {
  const { traceId, spanId } = span.spanContext()
  const parentId = span.parentSpanContext?.spanId
  const { code, message } = span.status
  return {
    span: span.name,
    trace_id: traceId,
    span_id: spanId,
    ...(parentId !== undefined && { parent_id: parentId }),
    start_ms: toMs(span.startTime),
    ms: toMs(span.duration),
    ...(code === SpanStatusCode.ERROR && { error: message ?? '' }),
    ...span.attributes,
  }
}

/** With microseconds. */
function toMs([seconds, nanoseconds]: HrTime): number {
  return Math.round(seconds * 1e6 + nanoseconds / 1e3) / 1e3
}
