import sharp from 'sharp'

/** As much of noVNC's class as the tests use. */
type Rfb = EventTarget & {
  resizeSession: boolean
  clipboardPasteFrom(text: string): void
  sendKey(keysym: number, code: string | null, down: boolean): void
  // What only the browser's events and elements reach.
  _display: unknown
  _cursorImage: { rgbaPixels: ArrayLike<number>; hotx: number; hoty: number; w: number; h: number }
  _fbName: string
  _rfbConnectionState: string
  _screenSize: () => { w: number; h: number }
  _sendMouse(x: number, y: number, buttons: number): void
}
/** All that noVNC wants of a WebSocket. */
type Channel = {
  send: (bytes: Uint8Array) => void
  close: () => void
  protocol: string
  binaryType: string
  onopen: unknown
  onerror: unknown
  onmessage: ((event: { data: ArrayBuffer }) => void) | null
  readyState: string
}
type RfbClass = new (target: unknown, channel: Channel) => Rfb

/**
 * noVNC as it is published, without a browser: what it would draw is kept here, and what it has of
 * the page is there and does nothing.
 */
export class Novnc {
  readonly rfb: Rfb
  readonly copied: string[] = []
  width = 0
  height = 0
  rgb = Buffer.alloc(0)
  readonly #channel: Channel
  #drawing: Promise<unknown> = Promise.resolve()

  constructor(Class: RfbClass, send: (bytes: Buffer) => void) {
    this.#channel = {
      send: (bytes) => send(Buffer.from(bytes)),
      close: () => {},
      protocol: '',
      binaryType: '',
      onopen: null,
      onerror: null,
      onmessage: null,
      readyState: 'open',
    }
    this.rfb = new Class(standIn(), this.#channel)
    this.rfb._display = this.#display()
    this.rfb.addEventListener('clipboard', (event) => {
      this.copied.push((event as CustomEvent<{ text: string }>).detail.text)
    })
  }

  receive(bytes: Buffer): void {
    this.#channel.onmessage!({ data: new Uint8Array(bytes).buffer })
  }

  /** All that was received is drawn, and was understood. */
  async drawn(): Promise<void> {
    await this.#drawing
    const state = this.rfb._rfbConnectionState
    if (state !== 'connected') throw new Error(`noVNC is ${state}`)
  }

  #display(): unknown {
    return standIn({
      resize: (width: number, height: number) => {
        if (width === this.width && height === this.height) return
        this.width = width
        this.height = height
        this.rgb = Buffer.alloc(width * height * 3)
      },
      fillRect: (x: number, y: number, width: number, height: number, colour: Uint8Array) =>
        this.#draw(x, y, width, height, Buffer.alloc(width * height * 3, Buffer.from(colour))),
      blitImage: (x: number, y: number, width: number, height: number, rgba: Uint8Array) => {
        const rgb = Buffer.from(rgba.subarray(0, width * height * 4)).filter((_, at) => at % 4 < 3)
        this.#draw(x, y, width, height, rgb)
      },
      imageRect: (...[x, y, width, height, , jpeg]: [...number[], string, Uint8Array]) => {
        const decoded = sharp(Buffer.from(jpeg as Uint8Array))
          .removeAlpha()
          .raw()
          .toBuffer()
        const place = [x, y, width, height] as [number, number, number, number]
        this.#drawing = Promise.all([
          this.#drawing,
          decoded.then((rgb) => this.#draw(...place, rgb)),
        ])
      },
      pending: () => false,
      absX: (x: number) => x,
      absY: (y: number) => y,
    })
  }

  #draw(x: number, y: number, width: number, height: number, rgb: Uint8Array): void {
    for (let row = 0; row < height; row++) {
      const line = rgb.subarray(row * width * 3, (row + 1) * width * 3)
      this.rgb.set(line, ((y + row) * this.width + x) * 3)
    }
  }
}

/** It takes a browser's globals for granted from its first line on: this process has them then. */
export async function loadNovnc(): Promise<RfbClass> {
  Object.assign(globalThis, {
    window: standIn({ isSecureContext: true }),
    document: standIn(),
    MutationObserver: standIn(),
    ResizeObserver: standIn(),
    ImageData: standIn(),
  })
  // It has no types.
  const name: string = '@novnc/novnc'
  return ((await import(name)) as { default: RfbClass }).default
}

/** In the place of anything of a page: whatever is asked of it is there, and does nothing. */
function standIn(known: Record<PropertyKey, unknown> = {}): object {
  const values: Record<PropertyKey, unknown> = {
    [Symbol.toPrimitive]: () => 0,
    // oxlint-disable-next-line unicorn/no-thenable
    then: undefined,
    ...known,
  }
  return new Proxy(function () {}, {
    get: (_target, key) => (key in values ? values[key] : (values[key] = standIn())),
    set: (_target, key, value) => {
      values[key] = value
      return true
    },
    has: () => false,
    apply: () => standIn(),
    construct: () => standIn(),
  })
}
