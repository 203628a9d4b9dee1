import { setTimeout as pause } from 'node:timers/promises'
import type { ClickBody, DragBody, MouseButton, Point, ScrollBody } from '@computer/contract'
import type { z } from 'zod'
import type { FenceGrant } from '../fence.ts'
import { invalidRequest } from '../errors.ts'
import { eventCode } from '../x11/events.ts'
import { queryPointer } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { fakeInput } from './fake-input.ts'

/** A holder of keys and buttons, compared by identity, whose input can be released on its own. */
export type InputOwner = object

/**
 * The pointer. Points are checked before the first event, so that a refused call moves nothing. The
 * fence is checked before every event, and a call returns when the X server has processed it.
 */
export class Pointer {
  readonly #session: XSession
  /** The owner of each pressed button; undefined if a call of the API pressed it. */
  readonly #held = new Map<number, InputOwner | undefined>()
  lastPressAtMs = -Infinity

  constructor(session: XSession) {
    this.#session = session
  }

  async move(grant: FenceGrant, to: Point): Promise<void> {
    this.#checkInside(to)
    this.#moveTo(grant, to)
    await this.#session.x.sync()
  }

  async click(grant: FenceGrant, body: z.output<typeof ClickBody>): Promise<void> {
    if (body.at) this.#checkInside(body.at)
    const button = buttonNumber[body.button]
    if (body.at) this.#moveTo(grant, body.at)
    const presses = body.down || !body.up
    const releases = body.up || !body.down
    for (let click = 0; click < body.count; click++) {
      if (presses) this.#button(grant, button, true)
      if (releases) this.#button(grant, button, false)
    }
    await this.#session.x.sync()
  }

  /** Presses, moves in equal steps, releases. Toolkits expect a drag to take some time. */
  async drag(grant: FenceGrant, body: z.output<typeof DragBody>): Promise<void> {
    const { to, steps } = body
    this.#checkInside(to)
    if (body.from) this.#checkInside(body.from)
    const from = body.from ?? (await this.position())
    const button = buttonNumber[body.button]
    const stepMs = Math.min(maxStepMs, longDragMs / steps)

    this.#moveTo(grant, from)
    this.#button(grant, button, true)
    try {
      await wait(grant, settleMs)
      let dueMs = 0
      for (let step = 1; step <= steps; step++) {
        const part = step / steps
        this.#moveTo(grant, {
          x: Math.round(from.x + (to.x - from.x) * part),
          y: Math.round(from.y + (to.y - from.y) * part),
        })
        dueMs += stepMs
        if (dueMs < 1) continue
        await wait(grant, Math.floor(dueMs))
        dueMs %= 1
      }
      await wait(grant, settleMs)
      this.#button(grant, button, false)
    } catch (error) {
      // Interrupted: the caller will not release it.
      this.#release(button)
      throw error
    } finally {
      await this.#session.x.sync()
    }
  }

  async scroll(grant: FenceGrant, body: z.output<typeof ScrollBody>): Promise<void> {
    if (body.at) {
      this.#checkInside(body.at)
      this.#moveTo(grant, body.at)
    }
    const button = wheelButton[body.direction]
    for (let notch = 0; notch < body.amount; notch++) {
      this.#button(grant, button, true)
      this.#button(grant, button, false)
    }
    await this.#session.x.sync()
  }

  /**
   * Applies a viewer's pointer state: the position and all buttons, bit 0 the first. Buttons of
   * other owners stay. Does not wait for the X server. A point outside the display is dropped.
   */
  follow(grant: FenceGrant, state: Point & { readonly buttons: number }, owner: InputOwner): void {
    if (!this.#isInside(state)) return
    this.#moveTo(grant, state)
    for (let button = 1; button <= viewerButtons; button++) {
      const isDown = (state.buttons & (1 << (button - 1))) !== 0
      if (isDown && !this.#held.has(button)) this.#button(grant, button, true, owner)
      if (!isDown && this.#held.get(button) === owner) this.#button(grant, button, false)
    }
  }

  releaseAll(): void {
    for (const button of this.#held.keys()) this.#release(button)
  }

  releaseOwnedBy(owner: InputOwner): void {
    for (const [button, holder] of this.#held) if (holder === owner) this.#release(button)
  }

  #moveTo(grant: FenceGrant, { x, y }: Point): void {
    grant.check()
    this.#session.x.send(fakeInput(this.#session, eventCode.motionNotify, 0, { x, y }))
  }

  #button(grant: FenceGrant, button: number, down: boolean, owner?: InputOwner): void {
    grant.check()
    if (!down) return this.#release(button)
    this.#session.x.send(fakeInput(this.#session, eventCode.buttonPress, button))
    this.#held.set(button, owner)
    this.lastPressAtMs = performance.now()
  }

  #release(button: number): void {
    this.#session.x.send(fakeInput(this.#session, eventCode.buttonRelease, button))
    this.#held.delete(button)
  }

  async position(): Promise<Point> {
    const reply = await this.#session.x.ask(queryPointer(this.#session.root))
    return { x: reply.readInt16LE(16), y: reply.readInt16LE(18) }
  }

  /** Throws if one is outside the display. */
  requireInside(points: readonly (Point | undefined)[]): void {
    for (const point of points) if (point) this.#checkInside(point)
  }

  #isInside({ x, y }: Point): boolean {
    const { width, height } = this.#session.size
    return x >= 0 && y >= 0 && x < width && y < height
  }

  #checkInside({ x, y }: Point): void {
    const { width, height } = this.#session.size
    if (this.#isInside({ x, y })) return
    throw invalidRequest(`${x},${y} is outside the display, which is ${width}x${height}`)
  }
}

/** Left, middle, right and the four wheel directions. */
const viewerButtons = 7
const buttonNumber: Record<MouseButton, number> = { left: 1, middle: 2, right: 3 }
const wheelButton = { up: 4, down: 5, left: 6, right: 7 } as const

const maxStepMs = 5
const longDragMs = 1000
const settleMs = 8

async function wait(grant: FenceGrant, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: grant.signal }).catch(() => {})
  grant.check()
}
