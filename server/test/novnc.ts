import sharp from 'sharp'

/** The part of noVNC's class that the tests use. */
type Rfb = EventTarget & {
  resizeSession: boolean
  clipboardPasteFrom(text: string): void
  sendKey(keysym: number, code: string | null, down: boolean): void
  // Private members that only browser events and elements reach.
  _display: unknown
  _cursorImage: { rgbaPixels: ArrayLike<number>; hotx: number; hoty: number; w: number; h: number }
  _fbName: string
  _rfbConnectionState: string
  _screenSize: () => { w: number; h: number }
  _sendMouse(x: number, y: number, buttons: number): void
}
/** The part of a WebSocket that noVNC uses. */
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
 * The published noVNC without a browser. Drawing goes to a framebuffer here, and everything it uses of
 * the page is a stub.
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

  /** Resolves when everything received is drawn. Throws on protocol errors. */
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

/** noVNC needs browser globals when it is loaded, so they are defined first. */
export async function loadNovnc(): Promise<RfbClass> {
  Object.assign(globalThis, {
    window: standIn({ isSecureContext: true }),
    document: standIn(),
    MutationObserver: standIn(),
    ResizeObserver: standIn(),
    ImageData: standIn(),
  })
  // noVNC has no types.
  const name: string = '@novnc/novnc'
  return ((await import(name)) as { default: RfbClass }).default
}

/** A stub for anything of a page: every property exists and does nothing. */
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
