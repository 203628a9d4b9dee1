import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'

/** The first spans wait this long for others to be sent with. */
const batchEveryMs = 2_000
const batchSize = 512
/** Spans that end while so many wait for the collector are dropped. */
const mostWaiting = 4_096
const exportTimeoutMs = 10_000

/**
 * Sends spans in batches to a collector, as JSON by OTLP over HTTP. What it does not take in time is dropped: no work
 * waits for it, and none fails with it. The package's own variables, such as OTEL_EXPORTER_OTLP_HEADERS, hold.
 */
export async function createCollector(
  url: string,
  log: Pick<Logger, 'warn' | 'info'>,
): Promise<SpanProcessor> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/sdk-trace'),
  ])
  const exporter = new OTLPTraceExporter({
    url: `${url.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: exportTimeoutMs,
  })
  return new BatchSpanProcessor({
    exporter: reportFailures(exporter, url, log),
    maxExportBatchSize: batchSize,
    maxQueueSize: mostWaiting,
    scheduledDelayMillis: batchEveryMs,
    exportTimeoutMillis: exportTimeoutMs,
  })
}

/** The same exporter; the log says when it begins to fail and when it works again, not each time. */
function reportFailures(
  exporter: SpanExporter,
  url: string,
  log: Pick<Logger, 'warn' | 'info'>,
): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { code, error } = result
        const hasFailed = code !== 0
        if (hasFailed && !isFailing) {
          const message = 'the collector does not take spans; they are dropped until it does'
          log.warn({ err: error, url }, message)
        }
        if (!hasFailed && isFailing) log.info({ url }, 'the collector takes spans again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
