import type { Client } from './client.ts'
import { argv, type Command } from './exec.ts'
import type { List, PageOptions } from './pages.ts'
import type { CallOptions } from './options.ts'
import type { Body, Query } from './transport.ts'
import type { Process, ProcessLog } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/processes'
type Start = Omit<Body<`POST ${typeof path}`>, 'command'>
type Stdin = Omit<Body<`POST ${typeof path}/{process_id}/stdin`>, 'content' | 'encoding'>
type Signal = NonNullable<Body<`POST ${typeof path}/{process_id}/signal`>['signal']>
type LogQuery = Query<`GET ${typeof path}/{process_id}/logs`>
type Stream = NonNullable<LogQuery['stream']>

/** The longest long-poll that the server allows. */
const longPollSeconds = 60

/** Background commands of a machine. */
export class Processes {
  readonly #client: Client
  readonly #params: { readonly machineId: string }

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#params = { machineId }
  }

  async start(command: Command, { signal, ...rest }: Start & CallOptions = {}): Promise<Process> {
    const body = { ...rest, command: argv(command) }
    const input = { params: this.#params, body, creates: true } as const
    return this.#client.transport.call(`POST ${path}`, input, { signal })
  }

  /** Running processes and the last 100 exited ones, newest first. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Process> {
    return this.#client.transport.list(`GET ${path}`, { params: this.#params, query }, { signal })
  }

  async get(processId: string, options: CallOptions = {}): Promise<Process> {
    const params = { ...this.#params, processId }
    return this.#client.transport.call(`GET ${path}/{process_id}`, { params }, options)
  }

  /** Resolves once the process has exited, however long that takes. */
  async wait(processId: string, options: CallOptions = {}): Promise<Process> {
    const input = { params: { ...this.#params, processId }, query: { wait: longPollSeconds } }
    for (;;) {
      const process = await this.#client.transport.call(`GET ${path}/{process_id}`, input, options)
      if (process.state === 'exited') return process
    }
  }

  /** Reads part of the output, from an offset. */
  async readLog(
    processId: string,
    { signal, ...query }: LogQuery & CallOptions = {},
  ): Promise<ProcessLog> {
    const params = { ...this.#params, processId }
    return this.#client.transport.call(
      `GET ${path}/{process_id}/logs`,
      { params, query },
      { signal },
    )
  }

  /** Streams the output from the beginning until the process has exited. */
  async *logs(
    processId: string,
    { stream = 'stdout', signal }: CallOptions & { readonly stream?: Stream | undefined } = {},
  ): AsyncGenerator<string, void, void> {
    for (let offset = 0; ;) {
      const query = { stream, offset, wait: longPollSeconds }
      const chunk = await this.readLog(processId, { ...query, signal })
      if (chunk.content !== '') yield chunk.content
      if (chunk.eof) return
      offset = chunk.nextOffset
    }
  }

  /** Writes to its standard input; `eof` closes it. */
  async write(
    processId: string,
    content: string,
    { eof, signal }: Stdin & CallOptions = {},
  ): Promise<void> {
    const input = { params: { ...this.#params, processId }, body: { content, eof } }
    await this.#client.transport.call(`POST ${path}/{process_id}/stdin`, input, { signal })
  }

  /** Sends a signal to its process group. Default: SIGTERM. */
  async signal(processId: string, signal?: Signal, options: CallOptions = {}): Promise<void> {
    const input = { params: { ...this.#params, processId }, body: { signal } }
    await this.#client.transport.call(`POST ${path}/{process_id}/signal`, input, options)
  }
}
