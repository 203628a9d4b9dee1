import { setTimeout as pause } from 'node:timers/promises'
import type { HotkeyBody, KeyBody, TypeBody } from '@computer/contract'
import type { z } from 'zod'
import type { Grant } from '../fence.ts'
import { eventCode } from '../x11/events.ts'
import { queryKeymap, queryPointer } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import { fakeInput } from './fake-input.ts'
import { waitForReader } from './focus.ts'
import { Keymap, type Stroke } from './keymap.ts'
import {
  isLetter,
  isText,
  keysym,
  keysymOfCharacter,
  keysymOfName,
  type Keysym,
} from './keysyms.ts'
import type { Presser } from './pointer.ts'

/**
 * The keyboard. Programs look a keycode up when they get to its event, which may be long after it
 * was sent. So what a keycode of ours means is changed only when no event of its earlier meaning
 * can be unread, and used only when the focused program can have noticed: `waitForReader` on both
 * sides of every change. Text that the layout has needs none of it.
 */
export class Keyboard {
  readonly #session: XSession
  readonly #keymap: Keymap
  readonly #held = new Set<number>()
  /** What viewers hold: the keycode that went down for a keysym, whatever the map says later. */
  readonly #pressed = new Map<Keysym, { readonly keycode: number; readonly by: Presser }>()
  #hasUnreadSpares = false

  constructor(session: XSession) {
    this.#session = session
    this.#keymap = new Keymap(session)
  }

  async key(grant: Grant, body: z.output<typeof KeyBody>): Promise<void> {
    const [stroke] = await this.#prepare(grant, [keysymOfName(body.key)])
    const presses = body.down || !body.up
    const releases = body.up || !body.down
    const shift = stroke!.shift ? this.#shift() : undefined
    if (presses && shift) this.#press(grant, shift)
    if (presses) this.#press(grant, stroke!.keycode)
    if (releases) this.#release(stroke!.keycode)
    if (releases && shift) this.#release(shift)
    await this.#finish(stroke!.spare)
  }

  async hotkey(grant: Grant, body: z.output<typeof HotkeyBody>): Promise<void> {
    const strokes = await this.#prepare(grant, body.keys.map(keysymOfName))
    const keycodes = strokes.map(({ keycode }) => keycode)
    const shift = this.#shift()
    if (strokes.some((stroke) => stroke.shift) && shift && !keycodes.includes(shift)) {
      keycodes.splice(-1, 0, shift)
    }
    try {
      for (const keycode of keycodes) this.#press(grant, keycode)
    } finally {
      for (const keycode of keycodes.toReversed()) this.#release(keycode)
    }
    await this.#finish(strokes.some(({ spare }) => spare))
  }

  async type(grant: Grant, body: z.output<typeof TypeBody>): Promise<void> {
    const keysyms = [...body.text.replaceAll('\r\n', '\n')].map(keysymOfCharacter)
    await this.#keymap.refresh()
    grant.check()
    const restore = await this.#clearModifiers()
    try {
      for (let start = 0; start < keysyms.length;) {
        const end = this.#keymap.reach(keysyms, start)
        const strokes = await this.#prepare(grant, keysyms.slice(start, end))
        await this.#strike(grant, strokes, body.delay_ms)
        await this.#finish(strokes.some(({ spare }) => spare))
        start = end
      }
    } finally {
      restore()
      await this.#session.x.sync()
    }
  }

  /** One keysym goes down, until `lift`: what a viewer sends, as it sends it. */
  async press(grant: Grant, wanted: Keysym, by: Presser): Promise<void> {
    const pressed = this.#pressed.get(wanted)
    // A viewer repeats it.
    if (pressed) return this.#press(grant, pressed.keycode)
    const [stroke] = await this.#prepare(grant, [wanted])
    const { keycode, spare } = stroke!
    const shifts = spare ? undefined : await this.#shiftsToChange(stroke!, wanted)
    grant.check()
    for (const shift of shifts?.keycodes ?? []) this.#send(shift, shifts!.down)
    this.#press(grant, keycode)
    for (const shift of shifts?.keycodes ?? []) this.#send(shift, !shifts!.down)
    this.#pressed.set(wanted, { keycode, by })
    this.#hasUnreadSpares ||= spare
  }

  /** One that is not down is no error: another holder's takeover may have released it. */
  lift(grant: Grant, wanted: Keysym): void {
    const pressed = this.#pressed.get(wanted)
    if (!pressed) return
    grant.check()
    this.#pressed.delete(wanted)
    this.#release(pressed.keycode)
  }

  releaseAll(): void {
    this.#pressed.clear()
    for (const keycode of this.#held) this.#release(keycode)
  }

  releaseOf(presser: Presser): void {
    for (const [keysym, { keycode, by }] of this.#pressed) {
      if (by !== presser) continue
      this.#pressed.delete(keysym)
      this.#release(keycode)
    }
  }

  /** How to type these, after changing the keymap if it has not got them. */
  async #prepare(grant: Grant, keysyms: readonly Keysym[]): Promise<Stroke[]> {
    await this.#keymap.refresh()
    grant.check()
    if (this.#hasUnreadSpares && keysyms.some((wanted) => !this.#keymap.find(wanted))) {
      await waitForReader(this.#session)
      this.#hasUnreadSpares = false
      grant.check()
    }
    const { isUnreserved } = this.#keymap
    if (this.#keymap.assign(keysyms)) {
      await this.#session.x.sync()
      if (isUnreserved) await pause(firstChangeMs)
      await waitForReader(this.#session, 2)
      await this.#keymap.refresh()
      grant.check()
    }
    return keysyms.map((wanted) => this.#keymap.find(wanted)!)
  }

  /** Events of our own keycodes must have been read before anything else is done with them. */
  async #finish(usedSpares: boolean): Promise<void> {
    await this.#session.x.sync()
    if (usedSpares) await waitForReader(this.#session)
  }

  async #strike(grant: Grant, strokes: readonly Stroke[], delayMs: number): Promise<void> {
    const shift = this.#shift()
    const perBatch = delayMs > 0 ? 1 : strokesPerBatch
    for (let start = 0; start < strokes.length; start += perBatch) {
      grant.check()
      let shifted = false
      for (const stroke of strokes.slice(start, start + perBatch)) {
        if (stroke.shift !== shifted && shift) {
          this.#send(shift, !shifted)
          shifted = !shifted
        }
        this.#send(stroke.keycode, true)
        this.#send(stroke.keycode, false)
      }
      if (shifted && shift) this.#send(shift, false)
      await this.#session.x.sync()
      if (delayMs > 0) await pause(delayMs, undefined, { signal: grant.signal }).catch(() => {})
    }
  }

  /**
   * Lifts what would change the text (held modifiers, Caps Lock) and returns what puts it back.
   * Num Lock stays: it changes no key that types text.
   */
  async #clearModifiers(): Promise<() => void> {
    const { x, root } = this.#session
    const [keys, pointer] = await Promise.all([x.ask(queryKeymap()), x.ask(queryPointer(root))])
    const lock = this.#keymap.find(keysym.capsLock)?.keycode
    const isLocked = (pointer.readUInt16LE(24) & lockMask) !== 0
    const lifted = [...this.#keymap.modifiers].filter(
      (keycode) => (keys[8 + (keycode >> 3)]! & (1 << (keycode & 7))) !== 0,
    )
    for (const keycode of lifted) this.#send(keycode, false)
    const toggleLock = () => {
      if (!isLocked || lock === undefined) return
      this.#send(lock, true)
      this.#send(lock, false)
    }
    toggleLock()
    return () => {
      toggleLock()
      for (const keycode of lifted) this.#send(keycode, true)
    }
  }

  /**
   * A viewer's layout may have a character on another level than ours: which Shift keys to put down,
   * or to lift, around a stroke. Not within shortcuts, whose Shift is meant.
   */
  async #shiftsToChange(
    stroke: Stroke,
    wanted: Keysym,
  ): Promise<{ readonly keycodes: readonly number[]; readonly down: boolean } | undefined> {
    const { x, root } = this.#session
    const state = (await x.ask(queryPointer(root))).readUInt16LE(24)
    if (!isText(wanted) || (state & shortcutMask) !== 0) return undefined
    const isLocked = (state & lockMask) !== 0 && isLetter(wanted)
    const down = stroke.shift !== isLocked
    if (down === ((state & shiftMask) !== 0)) return undefined
    const shifts = [keysym.shift, keysym.rightShift].flatMap(
      (shift) => this.#keymap.find(shift)?.keycode ?? [],
    )
    const keycodes = down ? shifts.slice(0, 1) : shifts.filter((shift) => this.#held.has(shift))
    return { keycodes, down }
  }

  #shift(): number | undefined {
    return this.#keymap.find(keysym.shift)?.keycode
  }

  #press(grant: Grant, keycode: number): void {
    grant.check()
    this.#send(keycode, true)
    this.#held.add(keycode)
  }

  #release(keycode: number): void {
    this.#send(keycode, false)
    this.#held.delete(keycode)
  }

  #send(keycode: number, down: boolean): void {
    const kind = down ? eventCode.keyPress : eventCode.keyRelease
    this.#session.x.send(fakeInput(this.#session, kind, keycode))
  }
}

const shiftMask = 1 << 0
const lockMask = 1 << 1
/** Control, Alt and Super. */
const shortcutMask = (1 << 2) | (1 << 3) | (1 << 6)
const strokesPerBatch = 50
/** Programs that had grabbed a key of our range let go of it when they hear of its change. */
const firstChangeMs = 60
