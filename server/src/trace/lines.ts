import { context, SpanStatusCode, trace, type Attributes, type HrTime } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import { pino } from 'pino'
import { detectTracing } from './span.ts'

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

/** From now on this process writes each span that ends to its log. */
export async function writeSpans(service: string): Promise<void> {
  const log = pino({ name: service })
  await recordSpans((line) => log.info(line, 'span'))
}

/** Registers an SDK that passes each span that ends to `write`. An SDK that is registered already stays. */
export async function recordSpans(write: (line: WrittenSpan) => void): Promise<void> {
  const [{ AsyncLocalStorageContextManager }, { TracerProvider }] = await Promise.all([
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/sdk-trace'),
  ])
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [lineWriter(write)] }))
  detectTracing()
}

/** Gives each span the id of its parent, and writes it when it ends. */
function lineWriter(write: (line: WrittenSpan) => void): SpanProcessor {
  return {
    onStart(span, parentContext) {
      const parent = trace.getSpan(parentContext) as { attributes?: Attributes } | undefined
      const inherited = parent?.attributes?.['id']
      if (span.attributes['id'] === undefined && inherited !== undefined) {
        span.setAttribute('id', inherited)
      }
    },
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
