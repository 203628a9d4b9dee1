import { setTimeout as pause } from 'node:timers/promises'
import type { ClickBody, DragBody, MouseButton, Point, ScrollBody } from '@computer/contract'
import type { z } from 'zod'
import type { Grant } from '../fence.ts'
import { invalid } from '../refusal.ts'
import { eventCode } from '../x11/events.ts'
import { queryPointer } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { fakeInput } from './fake-input.ts'

/** Whoever holds keys and buttons across calls and may go away: told apart by identity. */
export type Presser = object

/**
 * The pointer. Every point is checked before the first event, so that a refused call moves nothing;
 * every event is preceded by a look at the fence, and a call returns when the server has done it.
 */
export class Pointer {
  readonly #session: XSession
  /** By button, who holds it: nobody in particular when a call of the API pressed it. */
  readonly #held = new Map<number, Presser | undefined>()
  lastPressAtMs = -Infinity

  constructor(session: XSession) {
    this.#session = session
  }

  async move(grant: Grant, to: Point): Promise<void> {
    this.#checkInside(to)
    this.#moveTo(grant, to)
    await this.#session.x.sync()
  }

  async click(grant: Grant, body: z.output<typeof ClickBody>): Promise<void> {
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

  /** Presses, moves in equal steps, releases. Toolkits tell a drag by motion that takes some time. */
  async drag(grant: Grant, body: z.output<typeof DragBody>): Promise<void> {
    const { to, steps } = body
    this.#checkInside(to)
    if (body.from) this.#checkInside(body.from)
    const from = body.from ?? (await this.#where())
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
      // Broken off: nobody else will let go of it.
      this.#release(button)
      throw error
    } finally {
      await this.#session.x.sync()
    }
  }

  async scroll(grant: Grant, body: z.output<typeof ScrollBody>): Promise<void> {
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
   * The state that a viewer tells: where the pointer is and every button, bit 0 the first. Buttons
   * that others hold stay. Without waiting for the X server. A point outside the display is dropped.
   */
  follow(grant: Grant, state: Point & { readonly buttons: number }, by: Presser): void {
    if (!this.#isInside(state)) return
    this.#moveTo(grant, state)
    for (let button = 1; button <= viewerButtons; button++) {
      const isDown = (state.buttons & (1 << (button - 1))) !== 0
      if (isDown && !this.#held.has(button)) this.#button(grant, button, true, by)
      if (!isDown && this.#held.get(button) === by) this.#button(grant, button, false)
    }
  }

  releaseAll(): void {
    for (const button of this.#held.keys()) this.#release(button)
  }

  releaseOf(presser: Presser): void {
    for (const [button, by] of this.#held) if (by === presser) this.#release(button)
  }

  #moveTo(grant: Grant, { x, y }: Point): void {
    grant.check()
    this.#session.x.send(fakeInput(this.#session, eventCode.motionNotify, 0, { x, y }))
  }

  #button(grant: Grant, button: number, down: boolean, by?: Presser): void {
    grant.check()
    if (!down) return this.#release(button)
    this.#session.x.send(fakeInput(this.#session, eventCode.buttonPress, button))
    this.#held.set(button, by)
    this.lastPressAtMs = performance.now()
  }

  #release(button: number): void {
    this.#session.x.send(fakeInput(this.#session, eventCode.buttonRelease, button))
    this.#held.delete(button)
  }

  async #where(): Promise<Point> {
    const reply = await this.#session.x.ask(queryPointer(this.#session.root))
    return { x: reply.readInt16LE(16), y: reply.readInt16LE(18) }
  }

  #isInside({ x, y }: Point): boolean {
    const { width, height } = this.#session.size
    return x >= 0 && y >= 0 && x < width && y < height
  }

  #checkInside({ x, y }: Point): void {
    const { width, height } = this.#session.size
    if (this.#isInside({ x, y })) return
    throw invalid(`${x},${y} is outside the display, which is ${width}x${height}`)
  }
}

/** Left, middle, right and the four ways of the wheel. */
const viewerButtons = 7
const buttonNumber: Record<MouseButton, number> = { left: 1, middle: 2, right: 3 }
const wheelButton = { up: 4, down: 5, left: 6, right: 7 } as const

const maxStepMs = 5
const longDragMs = 1000
const settleMs = 8

async function wait(grant: Grant, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: grant.signal }).catch(() => {})
  grant.check()
}
