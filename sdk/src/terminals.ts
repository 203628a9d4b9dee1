import type { Client } from './client.ts'
import { withShell, type Command } from './command.ts'
import type { List, PageOptions } from './pages.ts'
import type { CallOptions } from './options.ts'
import { TerminalConnection, type AttachOptions } from './terminal-connection.ts'
import type { Body } from './transport.ts'
import type { Terminal } from './wire/records.ts'

const path = '/v1/machines/{machine_id}/terminals'
type OpenOptions = Omit<Body<`POST ${typeof path}`>, 'command'> & {
  /** Default: the user's login shell. */
  readonly command?: Command | undefined
}

/** The terminals (ptys) of a machine. They keep running without a client. */
export class Terminals {
  readonly #client: Client
  readonly #params: { readonly machineId: string }

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#params = { machineId }
  }

  async open({ signal, command, ...rest }: OpenOptions & CallOptions = {}): Promise<Terminal> {
    const open = (body: Body<`POST ${typeof path}`>) => {
      const input = { params: this.#params, body, creates: true } as const
      return this.#client.transport.call(`POST ${path}`, input, { signal })
    }
    if (command === undefined) return open(rest)
    return withShell(command, (argv) => open({ ...rest, command: argv }))
  }

  /** Open terminals, newest first. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Terminal> {
    return this.#client.transport.list(`GET ${path}`, { params: this.#params, query }, { signal })
  }

  /** Connects to a terminal: its output, its input and its exit code. */
  attach(terminalId: string, options: AttachOptions = {}): TerminalConnection {
    const { machineId } = this.#params
    const channel = `/v1/machines/${machineId}/terminals/${terminalId}`
    const { signal } = options
    const exists = async () => {
      const terminals = await this.list({ limit: 100, signal }).all()
      return terminals.some(({ id }) => id === terminalId)
    }
    return new TerminalConnection(this.#client.gateway, channel, exists, options)
  }

  async resize(
    terminalId: string,
    cols: number,
    rows: number,
    options: CallOptions = {},
  ): Promise<Terminal> {
    const input = { params: { ...this.#params, terminalId }, body: { cols, rows } }
    return this.#client.transport.call(`PATCH ${path}/{terminal_id}`, input, options)
  }

  /** Kills the processes of a terminal and closes it. */
  async kill(terminalId: string, options: CallOptions = {}): Promise<void> {
    const params = { ...this.#params, terminalId }
    await this.#client.transport.call(`DELETE ${path}/{terminal_id}`, { params }, options)
  }
}
