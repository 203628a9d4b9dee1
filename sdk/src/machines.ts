import type { Client } from './client.ts'
import { Machine } from './machine.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import { List } from './pages.ts'
import type { Body, Query } from './transport.ts'

export type CreateMachineOptions = Body<'POST /v1/machines'> & WaitOptions
export type MachineFilter = Query<'GET /v1/machines'> & CallOptions

/** The machines of the organization. */
export class Machines {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Creates a machine. Resolves once it is running. */
  async create(options: CreateMachineOptions = {}): Promise<Machine> {
    const { signal, wait, timeoutMs, ...body } = options
    const input = { body, creates: true } as const
    const record = await this.#client.transport.call('POST /v1/machines', input, { signal })
    const machine = new Machine(this.#client, record)
    const isAtRest = record.state !== 'creating'
    if (wait === false || isAtRest) return machine
    await machine.waitUntil(body.start === false ? 'stopped' : 'running', { signal, timeoutMs })
    return machine
  }

  /** Newest first. */
  list({ signal, ...query }: MachineFilter = {}): List<Machine> {
    return new List(async (cursor) => {
      const page = await this.#client.transport.call(
        'GET /v1/machines',
        { query: { ...query, cursor } },
        { signal },
      )
      return { ...page, data: page.data.map((record) => new Machine(this.#client, record)) }
    }, query.cursor)
  }

  async get(machineId: string, options: CallOptions = {}): Promise<Machine> {
    const params = { machineId }
    const route = 'GET /v1/machines/{machine_id}'
    return new Machine(this.#client, await this.#client.transport.call(route, { params }, options))
  }
}
