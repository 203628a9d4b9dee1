import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Body, Transport } from './transport.ts'
import type { Preview } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/ports'
type PublishOptions = Omit<Body<`POST ${typeof path}`>, 'port'>

/** The published ports of a machine, each at its own hostname. */
export class Ports {
  readonly #transport: Transport
  readonly #params: { readonly machineId: string }

  constructor(transport: Transport, machineId: string) {
    this.#transport = transport
    this.#params = { machineId }
  }

  /** Publishes a port, or returns its existing preview. Nothing needs to be listening yet. */
  async publish(
    port: number,
    { signal, ...rest }: PublishOptions & CallOptions = {},
  ): Promise<Preview> {
    const input = { params: this.#params, body: { ...rest, port }, creates: true } as const
    return this.#transport.call(`POST ${path}`, input, { signal })
  }

  /** Newest first. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Preview> {
    return this.#transport.list(`GET ${path}`, { params: this.#params, query }, { signal })
  }

  async get(previewId: string, options: CallOptions = {}): Promise<Preview> {
    const params = { ...this.#params, previewId }
    return this.#transport.call(`GET ${path}/{preview_id}`, { params }, options)
  }

  /** Unpublishes a port. Its hostname is never reused. */
  async unpublish(previewId: string, options: CallOptions = {}): Promise<void> {
    const params = { ...this.#params, previewId }
    await this.#transport.call(`DELETE ${path}/{preview_id}`, { params }, options)
  }
}
