import { context, propagation, trace, type Attributes } from '@opentelemetry/api'
import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import type { DestinationStream, Logger } from 'pino'
import { waitAtMost } from '../pace.ts'
import { createCollector } from './collector.ts'
import { createLineWriter, logLines, type WrittenSpan } from './lines.ts'
import { detectTracing } from './span.ts'

/** How long a process that ends waits for the collector. */
const endWithinMs = 2_000

/** Ends with what was recorded so far at the collector, unless that takes too long. */
export type Tracing = AsyncDisposable

/**
 * From now on this process records its spans for its log, for a collector, for both, or not at all. An SDK that an
 * operator has registered already stays.
 */
export async function startTracing(options: {
  /** Such as `api`. */
  readonly service: string
  readonly host: string
  /** Where spans are written as lines, or null. */
  readonly spanLog: DestinationStream | null
  /** The address of a collector that speaks OTLP over HTTP, or null. */
  readonly collectorUrl: string | null
  readonly log: Pick<Logger, 'warn' | 'info'>
}): Promise<Tracing> {
  const { service, host, spanLog, collectorUrl, log } = options
  const processors: SpanProcessor[] = []
  if (spanLog) processors.push(createLineWriter(logLines(service, spanLog)))
  if (collectorUrl !== null) processors.push(await createCollector(collectorUrl, log))
  if (processors.length > 0) {
    await register(processors, { 'service.name': `computer-${service}`, 'host.name': host })
  }
  detectTracing()
  return {
    async [Symbol.asyncDispose]() {
      const ended = Promise.allSettled(processors.map((processor) => processor.shutdown()))
      await waitAtMost(endWithinMs, ended)
    },
  }
}

/** Passes each span that ends to `write`. */
export async function recordSpans(write: (line: WrittenSpan) => void): Promise<void> {
  await register([createLineWriter(write)], {})
  detectTracing()
}

async function register(
  processors: readonly SpanProcessor[],
  attributes: Attributes,
): Promise<void> {
  const [hooks, core, resources, sdk] = await Promise.all([
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
  ])
  // OTEL_RESOURCE_ATTRIBUTES, such as the name of an environment.
  const ofOperator = resources.detectResources({
    detectors: [resources.resourceAttributesEnvDetector],
  })
  const resource = ofOperator.merge(resources.resourceFromAttributes(attributes))
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(
    new sdk.TracerProvider({ resource, spanProcessors: [inheritId, ...processors] }),
  )
}

/** Gives each span the id of its parent's row. */
const inheritId: SpanProcessor = {
  onStart(span, parentContext) {
    const parent = trace.getSpan(parentContext) as { attributes?: Attributes } | undefined
    const inherited = parent?.attributes?.['id']
    if (span.attributes['id'] === undefined && inherited !== undefined) {
      span.setAttribute('id', inherited)
    }
  },
  onEnd() {},
  forceFlush: async () => {},
  shutdown: async () => {},
}
