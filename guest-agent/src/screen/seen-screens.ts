import { randomBytes } from 'node:crypto'
import type { Rectangle } from '../x11/requests.ts'
import { AgentError } from '../errors.ts'
import { blocksTouching, countBlocks, hashArea, type Size } from './blocks.ts'
import type { Frame } from './frame.ts'

/** A whole screen that a caller has been shown, by the hashes of its blocks. */
export type SeenScreen = {
  readonly id: string
  readonly size: Size
  /** The window that was active; 0 if none was. */
  readonly activeWindow: number
  readonly hashes: Uint32Array
}

/** A grabbed screen. Its `pixels` are overwritten by the next grab, which has another number. */
export type GrabbedFrame = Frame & { readonly grab: number }

/** A picture of 1280x800 takes 16 KB. */
const mostScreens = 32
const mostBytes = 2 * 1024 * 1024

/**
 * The last screens that callers have been shown. A screen is hashed after it was answered, because that takes
 * a millisecond, and at the latest before its pixels are overwritten (`settle`).
 */
export class SeenScreens {
  readonly #screens = new Map<string, SeenScreen>()
  #latest: { readonly screen: SeenScreen; readonly grab: number } | undefined
  #unhashed: { readonly screen: SeenScreen; readonly frame: Frame } | undefined
  #bytes = 0

  /** Returns its id, which is that of the latest screen if nothing differs. */
  add(frame: GrabbedFrame, activeWindow: number): string {
    const latest = this.#latest
    if (latest?.grab === frame.grab && latest.screen.activeWindow === activeWindow) {
      return latest.screen.id
    }
    this.settle()
    const { width, height } = frame
    const screen: SeenScreen = {
      id: randomBytes(12).toString('base64url'),
      size: { width, height },
      activeWindow,
      hashes: new Uint32Array(countBlocks(frame)),
    }
    this.#unhashed = { screen, frame }
    this.#latest = { screen, grab: frame.grab }
    this.#screens.set(screen.id, screen)
    this.#bytes += screen.hashes.byteLength
    this.#dropOldest()
    return screen.id
  }

  /** Hashes the latest screen, if that was not done yet. */
  settle(): void {
    if (!this.#unhashed) return
    const { screen, frame } = this.#unhashed
    this.#unhashed = undefined
    for (const { index, block } of blocksTouching(frame, { x: 0, y: 0, ...screen.size })) {
      screen.hashes[index] = hashArea(frame, block)
    }
  }

  /** Throws precondition_failed if it is not known, or no longer. */
  require(id: string): SeenScreen {
    this.settle()
    const screen = this.#screens.get(id)
    if (screen) return screen
    throw staleScreen('that screenshot is not among the last of this desktop')
  }

  #dropOldest(): void {
    for (const [id, { hashes }] of this.#screens) {
      const isFull = this.#screens.size > mostScreens || this.#bytes > mostBytes
      if (!isFull || id === this.#latest?.screen.id) return
      this.#screens.delete(id)
      this.#bytes -= hashes.byteLength
    }
  }
}

/** The blocks of an area of a screen that differ in `now`, whose pixels begin at x,y of the display. */
export function differingBlocks(
  { size, hashes }: SeenScreen,
  now: Frame & { readonly x: number; readonly y: number },
  area: Rectangle,
): Rectangle[] {
  const differing: Rectangle[] = []
  for (const { index, block } of blocksTouching(size, area)) {
    const within = { ...block, x: block.x - now.x, y: block.y - now.y }
    if (hashArea(now, within) !== hashes[index]) differing.push(block)
  }
  return differing
}

export function staleScreen(what: string): AgentError {
  const message = `${what}; take another screenshot`
  return new AgentError('precondition_failed', message, { reason: 'screen_stale' })
}
