import { context, propagation, SpanStatusCode, trace, type Attributes } from '@opentelemetry/api'

/*
 * Spans of the server's work: requests, steps, queries, calls to the engine and to agents. They go through
 * OpenTelemetry's API. COMPUTER_TRACE=1 writes them to the log (lines.ts), and OTEL_EXPORTER_OTLP_ENDPOINT sends them
 * to a collector (collector.ts).
 *
 * A span has the id of its row, such as that of a machine, as its attribute `id`. Work on one row happens in
 * several processes, and the id is what their spans have in common.
 */

const tracer = trace.getTracer('computer')
let isOn = false

/** Whether spans are recorded. Callers ask before they compute attributes that cost something. */
export function isTracing(): boolean {
  return isOn
}

/** Called once a provider may be registered. Without one, every `span` is a plain call. */
export function detectTracing(): void {
  const probe = tracer.startSpan('start')
  isOn = probe.isRecording()
  probe.end()
}

/** Runs the work within a span. An error passes through, and the span has its message. */
export function span<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (!isOn) return work()
  return tracer.startActiveSpan(name, { attributes, startTime: now() }, async (active) => {
    try {
      return await work()
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      active.setStatus({ code: SpanStatusCode.ERROR, message })
      throw error
    } finally {
      active.end(now())
    }
  })
}

/** Runs the work of a request as a part of the trace that its `traceparent` header names, if it has one. */
export function continueTrace<T>(
  headers: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  if (!isOn) return work()
  return context.with(propagation.extract(context.active(), headers), work)
}

/** The attribute of a span's row: a given id, or that of a given row. */
export function rowOf(value: unknown): { readonly id?: string } {
  const id = value !== null && typeof value === 'object' && 'id' in value ? value.id : value
  return typeof id === 'string' ? { id } : {}
}

/** Adds what is known only by now, such as the id of a new row, to the span that is under way. */
export function annotate(attributes: Attributes): void {
  if (isOn) trace.getActiveSpan()?.setAttributes(attributes)
}

/** More exact than the SDK's own start times, which have whole milliseconds. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
