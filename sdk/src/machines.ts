import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import { Machine } from './machine.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import { List } from './pages.ts'
import type { Body, Query } from './transport.ts'
import { withTimeLimit } from './waiting.ts'

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
    const { name = 'a machine' } = options
    return withTimeLimit(`the creation of ${name}`, options, async (bounded) => {
      const { signal, wait, timeoutMs, ...body } = bounded
      const input = { body, creates: true } as const
      const record = await this.#client.transport.call('POST /v1/machines', input, { signal })
      const machine = new Machine(this.#client, record)
      const isAtRest = record.state !== 'creating'
      if (wait === false || isAtRest) return machine
      return machine.waitUntil(body.start === false ? 'stopped' : 'running', { signal, timeoutMs })
    })
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

  /** Finds a machine by id or name. Ids begin with `mch_`, which no name can. */
  async get(machine: string, options: CallOptions = {}): Promise<Machine> {
    if (!machine.startsWith('mch_')) {
      const found = await this.#find(machine, options)
      if (found) return found
      const message = `there is no machine with the name ${JSON.stringify(machine)}`
      throw new ApiError('not_found', message, { status: 404 })
    }
    const params = { machineId: machine }
    const route = 'GET /v1/machines/{machine_id}'
    return new Machine(this.#client, await this.#client.transport.call(route, { params }, options))
  }

  /**
   * The machine of a name, which is created if there is none. Resolves once it is running; with
   * `start: false`, in whatever state it is. Of a machine that exists, the other options change nothing.
   */
  async getOrCreate(
    name: string,
    options: Omit<CreateMachineOptions, 'name'> = {},
  ): Promise<Machine> {
    return withTimeLimit(`getting machine ${name} ready`, options, async (bounded) => {
      const found = await this.#find(name, bounded)
      if (found) return getReady(found, bounded)
      try {
        return await this.create({ ...bounded, name })
      } catch (error) {
        // Another program may have created it meanwhile.
        const isTaken = error instanceof ApiError && error.code === 'conflict'
        const other = isTaken ? await this.#find(name, bounded) : undefined
        if (!other) throw error
        return getReady(other, bounded)
      }
    })
  }

  async #find(name: string, { signal }: CallOptions): Promise<Machine | undefined> {
    return (await this.list({ name, limit: 1, signal })).data[0]
  }
}

async function getReady(
  machine: Machine,
  { start, ...options }: Pick<CreateMachineOptions, 'start'> & WaitOptions,
): Promise<Machine> {
  if (start === false) return machine
  if (machine.state === 'stopping') await machine.waitUntil('stopped', options)
  return machine.start(options)
}
