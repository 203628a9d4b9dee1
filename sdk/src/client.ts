import { Gateway } from './gateway.ts'
import { Input } from './input.ts'
import type { Configuration } from './options.ts'
import { Sessions } from './sessions.ts'
import { Transport } from './transport.ts'
import type { SessionType } from './wire/records.ts'

/** State shared by the parts of one Computer. */
export class Client {
  readonly transport: Transport
  readonly gateway: Gateway
  readonly sessions: Sessions
  readonly #sessionType: SessionType
  readonly #inputs = new Map<string, Input>()

  constructor(configuration: Configuration, sessionType: SessionType) {
    this.transport = new Transport(configuration)
    this.gateway = new Gateway(this.transport)
    this.sessions = new Sessions(this.transport)
    this.#sessionType = sessionType
  }

  /** One per machine, shared by all handles: two would take the lease from each other. */
  input(machineId: string): Input {
    const input =
      this.#inputs.get(machineId) ?? new Input(this.transport, machineId, this.#sessionType)
    this.#inputs.set(machineId, input)
    return input
  }

  /** Drops local state of a deleted machine; its session ended with it. */
  forget(machineId: string): void {
    this.#inputs.get(machineId)?.abandon()
    this.#inputs.delete(machineId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const inputs = [...this.#inputs.values()]
    this.#inputs.clear()
    await Promise.all(inputs.map((input) => input.close()))
  }
}
