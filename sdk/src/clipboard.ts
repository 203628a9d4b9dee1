import type { Input } from './input.ts'
import type { CallOptions } from './options.ts'
import type { Transport } from './transport.ts'
import type { ClipboardSelection } from './wire/records.ts'

export type ClipboardOptions = CallOptions & {
  /** `clipboard` is that of Ctrl-C and Ctrl-V, `primary` the selected text. Default: `clipboard`. */
  readonly selection?: ClipboardSelection | undefined
}

/** The clipboard of the desktop. Writing requires the input lease; reading does not. */
export class Clipboard {
  readonly #transport: Transport
  readonly #machineId: string
  readonly #input: Input

  constructor(transport: Transport, machineId: string, input: Input) {
    this.#transport = transport
    this.#machineId = machineId
    this.#input = input
  }

  async read({ selection, ...options }: ClipboardOptions = {}): Promise<string> {
    const input = { params: { machineId: this.#machineId }, query: { selection } }
    const { text } = await this.#transport.call(
      'GET /v1/machines/{machine_id}/clipboard',
      input,
      options,
    )
    return text
  }

  async write(text: string, { selection, ...options }: ClipboardOptions = {}): Promise<void> {
    await this.#input.send('PUT /v1/machines/{machine_id}/clipboard', { text, selection }, options)
  }
}
