import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type {
  BillingAccount,
  Catalog,
  CostEstimate,
  Plan,
  UsageLabels,
  UsageRecord,
  UsageSeries,
  UsageSummary,
} from './wire/records.ts'

/** The catalog of the server: plans, sizes and prices. */
export class Plans {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The catalog in effect. Its `data` are the plans, from the lowest to the highest. */
  async list({ signal, ...query }: PageOptions & CallOptions = {}): Promise<Catalog> {
    return this.#transport.call('GET /v1/plans', { query }, { signal })
  }

  async get(planId: string, options: CallOptions = {}): Promise<Plan> {
    return this.#transport.call('GET /v1/plans/{plan_id}', { params: { planId } }, options)
  }
}

/** What the organization used. Quantities are decimal strings of any size: use BigInt for sums. */
export class Usage {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Newest first. The current period, unless `start` and `end` say otherwise. */
  list({ signal, ...query }: Query<'GET /v1/usage'> & CallOptions = {}): List<UsageRecord> {
    return this.#transport.list('GET /v1/usage', { query }, { signal })
  }

  /** In buckets of an hour for up to seven days, else of a day. */
  async series({
    signal,
    ...query
  }: Query<'GET /v1/usage/series'> & CallOptions = {}): Promise<UsageSeries> {
    return this.#transport.call('GET /v1/usage/series', { query }, { signal })
  }

  /** The keys of metadata that usage is counted by. */
  async labels(options: CallOptions = {}): Promise<UsageLabels> {
    return this.#transport.call('GET /v1/usage/labels', {}, options)
  }

  /** Chooses the keys of metadata that usage is counted by from now on, at most five. */
  async setLabels(
    body: Body<'PUT /v1/usage/labels'>,
    options: CallOptions = {},
  ): Promise<UsageLabels> {
    return this.#transport.call('PUT /v1/usage/labels', { body }, options)
  }

  /** A billing period as a CSV file: its records, or its costs in the FOCUS format. */
  async export({ signal, ...query }: Query<'GET /v1/usage/export'> & CallOptions): Promise<string> {
    return this.#transport.bytes('GET /v1/usage/export', { query }, 'text/csv', readText, {
      signal,
    })
  }

  /** The usage since the organization was created, as OpenMetrics text. */
  async metrics(options: CallOptions = {}): Promise<string> {
    const type = 'application/openmetrics-text'
    return this.#transport.bytes('GET /v1/usage/metrics', {}, type, readText, options)
  }
}

/** The billing account of the organization. */
export class Billing {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async account(options: CallOptions = {}): Promise<BillingAccount> {
    return this.#transport.call('GET /v1/billing', {}, options)
  }

  /** Of the current period, or of the one that contains the time `period`. */
  async summary({
    signal,
    ...query
  }: Query<'GET /v1/billing/usage-summary'> & CallOptions = {}): Promise<UsageSummary> {
    return this.#transport.call('GET /v1/billing/usage-summary', { query }, { signal })
  }

  /** What new machines of a size, or the start of a machine, would cost. */
  async estimate(
    body: Body<'POST /v1/billing/estimate'>,
    options: CallOptions = {},
  ): Promise<CostEstimate> {
    return this.#transport.call(
      'POST /v1/billing/estimate',
      { body },
      { isRepeatable: true, ...options },
    )
  }

  /** Begins the purchase of a plan. Returns the page to send the browser to. */
  async checkout(
    body: Body<'POST /v1/billing/checkout'>,
    options: CallOptions = {},
  ): Promise<{ url: string }> {
    return this.#transport.call('POST /v1/billing/checkout', { body }, options)
  }

  /** The customer portal. Returns the page to send the browser to. */
  async portal(
    body: Body<'POST /v1/billing/portal'> = {},
    options: CallOptions = {},
  ): Promise<{ url: string }> {
    return this.#transport.call('POST /v1/billing/portal', { body }, options)
  }
}

const readText = (response: Response) => response.text()
