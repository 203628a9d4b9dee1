import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Transport } from './transport.ts'
import type { Secret } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/secrets'

/** The secrets of a machine, set as environment variables at every login. Values cannot be read. */
export class Secrets {
  readonly #transport: Transport
  readonly #params: { readonly machineId: string }

  constructor(transport: Transport, machineId: string) {
    this.#transport = transport
    this.#params = { machineId }
  }

  /** Stores or replaces a secret. A running machine receives it within seconds. */
  async set(name: string, value: string, options: CallOptions = {}): Promise<Secret> {
    const input = { params: this.#params, body: { name, value } }
    return this.#transport.call(`PUT ${path}`, input, options)
  }

  /** By name. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Secret> {
    return this.#transport.list(`GET ${path}`, { params: this.#params, query }, { signal })
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(
      `DELETE ${path}/{name}`,
      { params: { ...this.#params, name } },
      options,
    )
  }
}
