import type { Input } from './input.ts'
import type { CallOptions, InputOptions } from './options.ts'
import type { Query, Transport } from './transport.ts'
import type {
  Display as Geometry,
  Rectangle,
  ScreenshotFormat,
  ScreenWait,
} from './wire/records.ts'

type ScreenWaitQuery = Query<'GET /v1/machines/{machine_id}/screen/wait'>
type ScreenshotQuery = Query<'GET /v1/machines/{machine_id}/screenshot'>

export type ScreenshotOptions = CallOptions &
  Omit<ScreenshotQuery, 'region' | 'ignore'> & {
    /** A part of the display. Default: all of it. */
    readonly region?: Rectangle | undefined
    /** Where movement does not count for `settleMs`, such as a video. At most 16. */
    readonly ignore?: readonly Rectangle[] | undefined
  }

/** An image of the display, or of a part of it. */
export type Screenshot = {
  /** Names the screen that it shows, for `ifScreenshot`. Null if the machine's agent is of an earlier version. */
  readonly id: string | null
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly format: ScreenshotFormat
  /** Size of the image, in pixels. */
  readonly width: number
  readonly height: number
  /** Size of the display at that time, in pixels. */
  readonly display: { readonly width: number; readonly height: number }
  /** With `settleMs`: whether the screen had settled before `timeoutMs` passed. */
  readonly settled: boolean | null
  /** Where the screen moved in the last `settleMs`, if it had not settled. */
  readonly changing: Rectangle | null
  /** Pass it as `ifNoneMatch`. Null for an image of more than 64 KiB. */
  readonly etag: string | null
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
  async resize(width: number, height: number, options: InputOptions = {}): Promise<void> {
    const body = { width, height }
    await this.#input.send('POST /v1/machines/{machine_id}/display/resize', body, options)
  }

  /** Waits until the screen differs from a screenshot, by its `id`. Blinking text cursors count. */
  async waitForChange(
    since: string,
    { signal, region, ignore, timeoutMs }: ScreenWaitOptions = {},
  ): Promise<ScreenWait> {
    const query: ScreenWaitQuery = { since, timeoutMs }
    if (region) query.region = toText(region)
    if (ignore?.length) query.ignore = ignore.map(toText).join(';')
    const input = { params: { machineId: this.#machineId }, query }
    return this.#transport.call('GET /v1/machines/{machine_id}/screen/wait', input, { signal })
  }

  /** With `ifNoneMatch`, the `etag` of an earlier image: null if the image would be the same. */
  async screenshot(
    options: ScreenshotOptions & { readonly ifNoneMatch: string | null | undefined },
  ): Promise<Screenshot | null>
  async screenshot(options?: ScreenshotOptions): Promise<Screenshot>
  async screenshot(
    options: ScreenshotOptions & { readonly ifNoneMatch?: string | null | undefined } = {},
  ): Promise<Screenshot | null> {
    const { signal, region, ignore, ifNoneMatch, ...rest } = options
    const { format = 'png', settleMs = 0 } = rest
    const query: ScreenshotQuery = { ...rest, format }
    if (region) query.region = toText(region)
    if (ignore?.length) query.ignore = ignore.map(toText).join(';')
    return this.#transport.bytes(
      'GET /v1/machines/{machine_id}/screenshot',
      { params: { machineId: this.#machineId }, query },
      `image/${format}`,
      (response) => (response.status === 304 ? null : readImage(response, format, settleMs > 0)),
      { signal, ...(ifNoneMatch && { headers: { 'if-none-match': ifNoneMatch } }) },
    )
  }
}

/** What to wait for, until the screen differs from a screenshot. */
export type ScreenWaitOptions = CallOptions & {
  /** A part of the display. Default: all of it. */
  readonly region?: Rectangle | undefined
  /** Where changes do not count, such as a clock. At most 16. */
  readonly ignore?: readonly Rectangle[] | undefined
  /** At most 30,000. Default: 5,000. */
  readonly timeoutMs?: number | undefined
}

async function readImage(
  response: Response,
  format: ScreenshotFormat,
  hasSettling: boolean,
): Promise<Screenshot> {
  const { headers } = response
  return {
    id: headers.get('x-screenshot-id'),
    bytes: new Uint8Array(await response.arrayBuffer()),
    format,
    width: Number(headers.get('x-image-width')),
    height: Number(headers.get('x-image-height')),
    display: {
      width: Number(headers.get('x-display-width')),
      height: Number(headers.get('x-display-height')),
    },
    settled: hasSettling ? headers.get('x-screenshot-settled') === 'true' : null,
    changing: toRectangle(headers.get('x-screenshot-changing')),
    etag: headers.get('etag'),
  }
}

function toText({ x, y, width, height }: Rectangle): string {
  return [x, y, width, height].join()
}

function toRectangle(text: string | null): Rectangle | null {
  if (!text) return null
  const [x, y, width, height] = text.split(',').map(Number)
  return { x: x!, y: y!, width: width!, height: height! }
}
