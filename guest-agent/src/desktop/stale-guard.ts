import type { Point } from '@computer/contract'
import type { GuestSeen } from '@computer/contract/guest-desktop'
import { setTimeout as pause } from 'node:timers/promises'
import type { FenceGrant } from '../fence.ts'
import { areaAround } from '../screen/blocks.ts'
import {
  differingBlocks,
  staleScreen,
  type SeenScreen,
  type SeenScreens,
} from '../screen/seen-screens.ts'
import { getImage, grabServer, ungrabServer, type Rectangle } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { readActiveWindow } from './focus.ts'

/** Blocks around the one with the point, each way: in all 80×80 pixels are compared, and 48×48 must be the same. */
const compared = 2
const exact = 1
/** So many of the other blocks may differ, such as those of a clock or of a text cursor. */
const mostOthers = 4
/** A text cursor is back after so long. */
const blinkMs = 700
const pollMs = 30
const replyHeaderBytes = 32
const replyBytes = replyHeaderBytes + (16 * (2 * compared + 1)) ** 2 * 4

/**
 * Refuses input of callers whose screen has changed since they saw it, before anything moves. What is around the
 * point decides, and for the keyboard the active window.
 */
export class StaleGuard {
  readonly #session: XSession
  readonly #seen: SeenScreens
  readonly #reply = Buffer.allocUnsafeSlow(replyBytes)

  constructor(session: XSession, seen: SeenScreens) {
    this.#session = session
    this.#seen = seen
  }

  /** Calls `act`, which must be quick, while no other program can draw. */
  async actAt<T>(
    seen: GuestSeen,
    points: readonly Point[],
    grant: FenceGrant,
    act: () => Promise<T>,
  ): Promise<T> {
    const { x } = this.#session
    const screen = this.#seen.require(seen.screenshot)
    const endMs = performance.now() + blinkMs
    for (;;) {
      let changed: Changed | undefined
      x.send(grabServer())
      try {
        changed = await this.#findChange(screen, points, seen.strict)
        if (!changed) return await act()
      } finally {
        x.send(ungrabServer())
      }
      if (!changed.mayBlink || performance.now() >= endMs) throw staleScreen(changed.what)
      await pause(pollMs, undefined, { signal: grant.signal }).catch(() => {})
      grant.check()
    }
  }

  async requireActiveWindow(seen: GuestSeen): Promise<void> {
    const screen = this.#seen.require(seen.screenshot)
    this.#requireSize(screen)
    if ((await readActiveWindow(this.#session)) !== screen.activeWindow) {
      throw staleScreen('another window is active than on that screenshot')
    }
  }

  /** For input whose place does not matter. */
  requireSize(seen: GuestSeen): void {
    this.#requireSize(this.#seen.require(seen.screenshot))
  }

  #requireSize({ size }: SeenScreen): void {
    const { width, height } = this.#session.size
    if (size.width === width && size.height === height) return
    throw staleScreen('the display has another size than on that screenshot')
  }

  async #findChange(
    screen: SeenScreen,
    points: readonly Point[],
    isStrict: boolean,
  ): Promise<Changed | undefined> {
    this.#requireSize(screen)
    for (const point of points) {
      const differing = await this.#differing(screen, areaAround(screen.size, point, compared))
      const centre = areaAround(screen.size, point, exact)
      const hasCentre = differing.some((block) => isWithin(block, centre))
      if (!hasCentre && differing.length <= (isStrict ? 0 : mostOthers)) continue
      const what = `the screen around ${point.x},${point.y} has changed since that screenshot`
      return { what, mayBlink: differing.length <= mostOthers }
    }
    return undefined
  }

  /** The blocks of an area that are not as they were. */
  async #differing(screen: SeenScreen, area: Rectangle): Promise<Rectangle[]> {
    const { x, root } = this.#session
    const reply = await x.ask(getImage(root, area), { into: this.#reply })
    const start = reply.byteOffset + replyHeaderBytes
    const pixels = new Uint32Array(reply.buffer, start, area.width * area.height)
    return differingBlocks(screen, { ...area, pixels }, area)
  }
}

type Changed = { readonly what: string; readonly mayBlink: boolean }

function isWithin(block: Rectangle, { x, y, width, height }: Rectangle): boolean {
  return block.x >= x && block.y >= y && block.x < x + width && block.y < y + height
}
