import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type { Budget } from './wire/records.ts'

const one = '/v1/budgets/{budget_id}'

/**
 * Limits on what the organization, an API key, a machine or a label uses. Only owners change them, and API
 * keys never do.
 */
export class Budgets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Newest first. With `machineId`, those that the machine counts for. */
  list({ signal, ...query }: Query<'GET /v1/budgets'> & CallOptions = {}): List<Budget> {
    return this.#transport.list('GET /v1/budgets', { query }, { signal })
  }

  async create(body: Body<'POST /v1/budgets'>, options: CallOptions = {}): Promise<Budget> {
    return this.#transport.call('POST /v1/budgets', { body, creates: true }, options)
  }

  async get(budgetId: string, options: CallOptions = {}): Promise<Budget> {
    return this.#transport.call(`GET ${one}`, { params: { budgetId } }, options)
  }

  /** Takes effect at once: a raised budget lets machines start again. */
  async update(
    budgetId: string,
    body: Body<`PATCH ${typeof one}`>,
    options: CallOptions = {},
  ): Promise<Budget> {
    return this.#transport.call(`PATCH ${one}`, { params: { budgetId }, body }, options)
  }

  /** Machines that it stopped stay stopped. */
  async delete(budgetId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(`DELETE ${one}`, { params: { budgetId } }, options)
  }
}
