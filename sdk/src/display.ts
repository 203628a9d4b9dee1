import type { Input } from './input.ts'
import type { CallOptions } from './options.ts'
import type { Query, Transport } from './transport.ts'
import type { Display as Geometry, ScreenshotFormat } from './wire/records.ts'

export type ScreenshotOptions = CallOptions & Query<'GET /v1/machines/{machine_id}/screenshot'>

/** An image of the display. */
export type Screenshot = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly format: ScreenshotFormat
  /** Size of the display at that time, in pixels. */
  readonly width: number
  readonly height: number
}

/** The display of the desktop. */
export class Display {
  readonly #transport: Transport
  readonly #machineId: string
  readonly #input: Input

  constructor(transport: Transport, machineId: string, input: Input) {
    this.#transport = transport
    this.#machineId = machineId
    this.#input = input
  }

  /** The current geometry. Waits while the desktop starts. */
  async get(options: CallOptions = {}): Promise<Geometry> {
    const params = { machineId: this.#machineId }
    return this.#transport.call('GET /v1/machines/{machine_id}/display', { params }, options)
  }

  /** Changes the geometry. Requires the input lease. */
  async resize(width: number, height: number, options: CallOptions = {}): Promise<void> {
    const body = { width, height }
    await this.#input.send('POST /v1/machines/{machine_id}/display/resize', body, options)
  }

  async screenshot({ signal, ...query }: ScreenshotOptions = {}): Promise<Screenshot> {
    const { format = 'png' } = query
    return this.#transport.bytes(
      'GET /v1/machines/{machine_id}/screenshot',
      { params: { machineId: this.#machineId }, query },
      `image/${format}`,
      async (response) => ({
        bytes: new Uint8Array(await response.arrayBuffer()),
        format,
        width: Number(response.headers.get('x-display-width')),
        height: Number(response.headers.get('x-display-height')),
      }),
      { signal },
    )
  }
}
