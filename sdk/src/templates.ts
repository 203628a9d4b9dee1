import type { Client } from './client.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import { failed } from './snapshots.ts'
import type { Body, Query } from './transport.ts'
import { waitFor, withTimeLimit } from './waiting.ts'
import type { Template } from './wire/records.ts'

const one = '/v1/templates/{template_id}'

/** The templates that machines can be created from. */
export class Templates {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Creates a template from a snapshot, a running machine, or an image and a size. */
  async create(body: Body<'POST /v1/templates'>, options: WaitOptions = {}): Promise<Template> {
    return withTimeLimit(`the creation of template ${body.name}`, options, async (bounded) => {
      const { signal, wait } = bounded
      const input = { body, creates: true } as const
      const template = await this.#client.transport.call('POST /v1/templates', input, { signal })
      if (wait === false || template.state === 'ready') return template
      return this.waitUntilReady(template.id, bounded)
    })
  }

  /** Newest first. */
  list({ signal, ...query }: Query<'GET /v1/templates'> & CallOptions = {}): List<Template> {
    return this.#client.transport.list('GET /v1/templates', { query }, { signal })
  }

  async get(templateId: string, options: CallOptions = {}): Promise<Template> {
    return this.#client.transport.call(`GET ${one}`, { params: { templateId } }, options)
  }

  async update(
    templateId: string,
    body: Body<`PATCH ${typeof one}`>,
    options: CallOptions = {},
  ): Promise<Template> {
    return this.#client.transport.call(`PATCH ${one}`, { params: { templateId }, body }, options)
  }

  /** Deletes a template. Machines created from it are not affected. */
  async delete(templateId: string, options: CallOptions = {}): Promise<void> {
    await this.#client.transport.call(`DELETE ${one}`, { params: { templateId } }, options)
  }

  /** Resolves once it is ready; fails with `operation_failed` if the capture failed. */
  async waitUntilReady(templateId: string, options: WaitOptions = {}): Promise<Template> {
    return withTimeLimit(`template ${templateId}`, options, async (bounded) => {
      const { sourceMachineId: machineId } = await this.get(templateId, bounded)
      const check = async () => {
        const template = await this.get(templateId, bounded)
        if (template.state === 'error') throw failed(`template ${templateId}`, template.error)
        return template.state === 'ready' ? template : undefined
      }
      return waitFor(this.#client, { machineId, check }, bounded)
    })
  }
}
