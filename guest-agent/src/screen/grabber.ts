import { eventCode } from '../x11/events.ts'
import { extensionRequest, getImage } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { makeFrame, updateArea, type Frame } from './frame.ts'
import { makeGrid, spanArea, spansOf, tileArea, tilesTouching, type Grid } from './grid.ts'

/** `isNew` means that the geometry changed, and with it every tile. */
type Grab = { readonly grid: Grid; readonly isNew: boolean; readonly changed: number[] }

/**
 * Follows changes of the screen: the X server reports drawn rectangles (DAMAGE), and `grab` fetches
 * the tiles that they touch and returns those whose pixels changed. It costs nothing while nothing
 * is drawn.
 */
export class ScreenGrabber implements Disposable {
  readonly #session: XSession
  readonly #damageId: number
  readonly #stops: (() => void)[]
  #grid: Grid
  #frame: Frame
  #dirty = new Set<number>()
  #isGridNew = true
  #reply = Buffer.alloc(0)

  constructor(session: XSession, onDamage: () => void) {
    const { x, root, damage, size } = session
    this.#session = session
    this.#grid = makeGrid(size)
    this.#frame = makeFrame(size)
    this.#damageId = x.newId()
    this.#stops = [
      x.listen(damage.event, (event) => {
        if (event.readUInt32LE(8) !== this.#damageId) return
        this.#markDirty(event)
        onDamage()
      }),
      x.listen(eventCode.configureNotify, (event) => {
        if (event.readUInt32LE(8) === root) onDamage()
      }),
    ]
    const deltaRectangles = 1
    x.send(extensionRequest(damage.opcode, 1, [this.#damageId, root, deltaRectangles]))
  }

  get grid(): Grid {
    return this.#grid
  }

  get frame(): Frame {
    return this.#frame
  }

  get hasDamage(): boolean {
    return this.#dirty.size > 0 || this.#isGridNew || this.#isResized
  }

  /** Throws if the X server is gone. */
  async grab(): Promise<Grab> {
    for (let attempt = 0; ; attempt++) {
      if (this.#isResized) this.#reset()
      const isNew = this.#isGridNew
      const tiles = isNew ? Array.from({ length: this.#grid.count }, (_, i) => i) : [...this.#dirty]
      this.#dirty.clear()
      this.#isGridNew = false
      // Before the pixels are requested, so that anything drawn from here on is reported again.
      this.#subtractDamage()
      try {
        const changed = await this.#fetch(tiles)
        if (!this.#isResized) return { grid: this.#grid, isNew, changed: isNew ? tiles : changed }
      } catch (error) {
        // The screen may have shrunk while the request was on its way.
        if (attempt > 2) throw error
        await this.#session.x.sync()
        this.#reset()
      }
    }
  }

  [Symbol.dispose](): void {
    const { x, damage } = this.#session
    for (const stop of this.#stops) stop()
    x.send(extensionRequest(damage.opcode, 2, [this.#damageId]))
  }

  get #isResized(): boolean {
    const { width, height } = this.#session.size
    return width !== this.#grid.width || height !== this.#grid.height
  }

  #reset(): void {
    this.#grid = makeGrid(this.#session.size)
    this.#frame = makeFrame(this.#session.size)
    this.#isGridNew = true
    this.#dirty.clear()
  }

  #markDirty(event: Buffer): void {
    const [x, y] = [event.readInt16LE(16), event.readInt16LE(18)]
    const [width, height] = [event.readUInt16LE(20), event.readUInt16LE(22)]
    for (const tile of tilesTouching(this.#grid, { x, y, width, height })) this.#dirty.add(tile)
  }

  async #fetch(tiles: readonly number[]): Promise<number[]> {
    const { x, root } = this.#session
    const [grid, frame] = [this.#grid, this.#frame]
    const changed: number[] = []
    for (const span of spansOf(grid, tiles)) {
      const area = spanArea(grid, span)
      const length = replyHeaderBytes + area.width * area.height * 4
      if (this.#reply.length < length) this.#reply = Buffer.allocUnsafeSlow(length)
      const reply = await x.ask(getImage(root, area), { into: this.#reply })
      const source = { ...area, bytes: reply.subarray(replyHeaderBytes) }
      for (let tile = span.first; tile <= span.last; tile++) {
        if (updateArea(frame, tileArea(grid, tile), source)) changed.push(tile)
      }
    }
    return changed
  }

  #subtractDamage(): void {
    const { x, damage } = this.#session
    x.send(extensionRequest(damage.opcode, 3, [this.#damageId, 0, 0]))
  }
}

const replyHeaderBytes = 32
