import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Body, Transport } from './transport.ts'
import type { Preview } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/ports'
type Publish = Omit<Body<`POST ${typeof path}`>, 'port'>

/** The ports of a machine that are published, each at a hostname of its own. */
export class Ports {
  readonly #transport: Transport
  readonly #params: { readonly machineId: string }

  constructor(transport: Transport, machineId: string) {
    this.#transport = transport
    this.#params = { machineId }
  }

  /** Publishes one; nothing has to be listening yet. One that is published already is answered. */
  async publish(port: number, { signal, ...rest }: Publish & CallOptions = {}): Promise<Preview> {
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

  /** Its hostname answers no more and is never given again. */
  async unpublish(previewId: string, options: CallOptions = {}): Promise<void> {
    const params = { ...this.#params, previewId }
    await this.#transport.call(`DELETE ${path}/{preview_id}`, { params }, options)
  }
}
