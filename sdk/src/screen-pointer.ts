import type { Point } from './wire/records.ts'

/** The pointer of another on a live screen: of a person or a program that looks too, or of an agent that acts. */
export interface ScreenPointer {
  /** Tells the pointers of one screen apart. */
  readonly id: string
  /** The name of the user or of the API key, at most 64 characters. It is text of others. */
  readonly name: string
  readonly kind: 'person' | 'agent'
  /** Null for one that only watches. */
  readonly sessionId: string | null
  /** A pixel of the display. It may lie outside after a resize. */
  readonly at: Point
  /** An agent clicked here through the API. */
  readonly clicked: boolean
}

/** The gateway passes on so many. */
const everyMs = 50
/** The gateway refuses pixels outside. No display is larger. */
const largest = 16_383

/** Sends the newest of the places that it is given, 20 times a second at most. */
export class PointerSender {
  readonly #send: (at: Point | null) => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #next: Point | null | undefined

  constructor(send: (at: Point | null) => void) {
    this.#send = send
  }

  point(at: Point | null): void {
    this.#next = at && pixelOf(at)
    if (this.#timer === undefined) this.#flush()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#next = undefined
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#next === undefined) return
    this.#timer = setTimeout(() => this.#flush(), everyMs)
    this.#send(this.#next)
    this.#next = undefined
  }
}

/** Null outside of every display. */
function pixelOf({ x, y }: Point): Point | null {
  const pixel = { x: Math.floor(x), y: Math.floor(y) }
  const isInside = (value: number) => value >= 0 && value <= largest
  return isInside(pixel.x) && isInside(pixel.y) ? pixel : null
}
