import { toBase64 } from './base64.ts'
import type { Client } from './client.ts'
import { withShell, type Command } from './command.ts'
import { ApiError } from './errors.ts'
import type { List, PageOptions } from './pages.ts'
import type { CallOptions } from './options.ts'
import { pause } from './retry.ts'
import type { Body, Query } from './transport.ts'
import { pollMs } from './waiting.ts'
import type { Process, ProcessLog } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/processes'
type Start = Omit<Body<`POST ${typeof path}`>, 'command'>
type Stdin = Omit<Body<`POST ${typeof path}/{process_id}/stdin`>, 'content' | 'encoding'>
type Signal = NonNullable<Body<`POST ${typeof path}/{process_id}/signal`>['signal']>
type LogQuery = Query<`GET ${typeof path}/{process_id}/logs`>
type Stream = NonNullable<LogQuery['stream']>

/** Text, bytes, or a stream of bytes, such as a readable stream of Node. */
export type InputSource = string | Uint8Array | AsyncIterable<Uint8Array>

/** The longest long-poll that survives the time limits of common proxies. */
export const longPollSeconds = 60
/** Far below the limit of a request, and of what the machine buffers for a process. */
const maxWriteBytes = 1024 * 1024

/** Background commands of a machine. */
export class Processes {
  readonly #client: Client
  readonly #params: { readonly machineId: string }

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#params = { machineId }
  }

  async start(command: Command, { signal, ...rest }: Start & CallOptions = {}): Promise<Process> {
    return withShell(command, (argv) => {
      const body = { ...rest, command: argv }
      const input = { params: this.#params, body, creates: true } as const
      return this.#client.transport.call(`POST ${path}`, input, { signal })
    })
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

  /** Writes text or bytes to its standard input; `eof` closes it. */
  async write(
    processId: string,
    content: string | Uint8Array,
    { eof, signal }: Stdin & CallOptions = {},
  ): Promise<void> {
    const body =
      typeof content === 'string'
        ? { content, eof }
        : { content: toBase64(content), encoding: 'base64' as const, eof }
    const input = { params: { ...this.#params, processId }, body }
    await this.#client.transport.call(`POST ${path}/{process_id}/stdin`, input, { signal })
  }

  /**
   * Writes all of an input to its standard input, and closes that. Waits while the process does not read, and
   * resolves early if it exits.
   */
  async pipe(processId: string, source: InputSource, options: CallOptions = {}): Promise<void> {
    for await (const piece of piecesOf(source)) {
      if (!(await this.#offer(processId, piece, options))) return
    }
    await this.#offer(processId, '', { ...options, eof: true })
  }

  /** Sends a signal to its process group. Default: SIGTERM. */
  async signal(processId: string, signal?: Signal, options: CallOptions = {}): Promise<void> {
    const input = { params: { ...this.#params, processId }, body: { signal } }
    await this.#client.transport.call(`POST ${path}/{process_id}/signal`, input, options)
  }

  /** Writes as soon as the process has read enough of its earlier input. False if it has exited. */
  async #offer(
    processId: string,
    content: string | Uint8Array,
    options: Stdin & CallOptions,
  ): Promise<boolean> {
    for (let number = 0; ; number++) {
      try {
        await this.write(processId, content, options)
        return true
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
      }
      const { state } = await this.get(processId, options)
      if (state === 'exited') return false
      await pause(pollMs(number), options.signal)
    }
  }
}

async function* piecesOf(source: InputSource): AsyncGenerator<Uint8Array, void, void> {
  if (typeof source === 'string') yield* slicesOf(new TextEncoder().encode(source))
  else if (source instanceof Uint8Array) yield* slicesOf(source)
  else for await (const bytes of source) yield* slicesOf(bytes)
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += maxWriteBytes) {
    yield bytes.subarray(at, at + maxWriteBytes)
  }
}
