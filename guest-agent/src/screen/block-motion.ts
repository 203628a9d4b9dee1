import type { Rectangle } from '../x11/requests.ts'
import { blocksTouching, countBlocks, hashArea } from './blocks.ts'
import type { Frame } from './frame.ts'
import { overlaps, union } from './rectangles.ts'

/**
 * What moves on a screen, in blocks of 16×16 pixels. A block that returns to the content that it had
 * before its last change is blinking, as a text cursor does; one that changes at even intervals of 0.4 s
 * and more is a clock. Neither counts as motion, and nor does the change before that showed it.
 */
export class BlockMotion {
  readonly width: number
  readonly height: number
  readonly #blocks: (Block | undefined)[]

  constructor({ width, height }: { readonly width: number; readonly height: number }) {
    this.width = width
    this.height = height
    this.#blocks = Array.from({ length: countBlocks(this) })
  }

  /** Takes over an area of the frame. `atMs` is null if the time of its changes is not known. */
  update(frame: Frame, area: Rectangle, atMs: number | null): void {
    for (const { index, block } of blocksTouching(this, area)) {
      const hash = hashArea(frame, block)
      const known = this.#blocks[index]
      if (known === undefined) this.#blocks[index] = newBlock(hash, atMs)
      else if (known.hash !== hash) change(known, hash, atMs)
    }
  }

  /**
   * When anything last moved in `within` and outside of every rectangle of `ignored`, and where anything
   * moved in the `forMs` before.
   */
  last(
    within: Rectangle,
    ignored: readonly Rectangle[],
    forMs: number,
  ): { readonly atMs: number; readonly where: Rectangle } | null {
    const moved: { readonly atMs: number; readonly block: Rectangle }[] = []
    let atMs = -Infinity
    for (const { index, block } of blocksTouching(this, within)) {
      const movedAtMs = this.#blocks[index]?.movedAtMs ?? null
      if (movedAtMs === null || ignored.some((rectangle) => overlaps(rectangle, block))) continue
      moved.push({ atMs: movedAtMs, block })
      atMs = Math.max(atMs, movedAtMs)
    }
    const recent = moved.filter((one) => one.atMs >= atMs - forMs)
    if (recent.length === 0) return null
    return { atMs, where: recent.map(({ block }) => block).reduce(union) }
  }
}

type Block = {
  hash: number
  /** The content before the last change. */
  formerHash: number | null
  /** When the block last changed, and when the time before, on the clock of `performance`. */
  changedAtMs: number | null
  formerlyChangedAtMs: number | null
  /** Null while the block is still, blinks or shows a clock. */
  movedAtMs: number | null
}

/** Carets blink every 0.5 s or so. What changes more often is motion, however even it is. */
const minTickMs = 400
const tickTolerance = 0.2

function newBlock(hash: number, movedAtMs: number | null): Block {
  return {
    hash,
    formerHash: null,
    changedAtMs: null,
    formerlyChangedAtMs: null,
    movedAtMs,
  }
}

function change(block: Block, hash: number, atMs: number | null): void {
  const isReturn = hash === block.formerHash
  const isTick = isEven(block.formerlyChangedAtMs, block.changedAtMs, atMs)
  block.formerHash = block.hash
  block.hash = hash
  block.formerlyChangedAtMs = block.changedAtMs
  block.changedAtMs = atMs
  block.movedAtMs = isReturn || isTick ? null : atMs
}

function isEven(first: number | null, second: number | null, third: number | null): boolean {
  if (first === null || second === null || third === null) return false
  const [former, latter] = [second - first, third - second]
  return former >= minTickMs && Math.abs(latter - former) <= former * tickTolerance
}
