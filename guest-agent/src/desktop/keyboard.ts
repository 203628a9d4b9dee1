import { setTimeout as pause } from 'node:timers/promises'
import type { HotkeyBody, KeyBody, TypeBody } from '@computer/contract'
import type { z } from 'zod'
import type { FenceGrant } from '../fence.ts'
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
import type { InputOwner } from './pointer.ts'

/**
 * The keyboard. A program looks up a keycode when it processes its event, which may be long after
 * the event was sent. So the meaning of one of the agent's own keycodes changes only when no event
 * with the earlier meaning can be unread, and the new one is used only when the focused program has
 * had the chance to notice: `waitForReader` comes before and after every change. Text that the
 * layout can type needs none of this.
 */
export class Keyboard {
  readonly #session: XSession
  readonly #keymap: Keymap
  readonly #held = new Set<number>()
  /** Keysyms that viewers hold, with the keycode that was pressed: the map may change meanwhile. */
  readonly #pressed = new Map<Keysym, { readonly keycode: number; readonly owner: InputOwner }>()
  #hasUnreadSpares = false

  constructor(session: XSession) {
    this.#session = session
    this.#keymap = new Keymap(session)
  }

  async key(grant: FenceGrant, body: z.output<typeof KeyBody>): Promise<void> {
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

  async hotkey(grant: FenceGrant, body: z.output<typeof HotkeyBody>): Promise<void> {
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

  async type(grant: FenceGrant, body: z.output<typeof TypeBody>): Promise<void> {
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

  /** Presses a viewer's keysym until `lift`. */
  async press(grant: FenceGrant, wanted: Keysym, owner: InputOwner): Promise<void> {
    const pressed = this.#pressed.get(wanted)
    // A repeat by the viewer.
    if (pressed) return this.#press(grant, pressed.keycode)
    const [stroke] = await this.#prepare(grant, [wanted])
    const { keycode, spare } = stroke!
    const shifts = spare ? undefined : await this.#shiftsToChange(stroke!, wanted)
    grant.check()
    for (const shift of shifts?.keycodes ?? []) this.#send(shift, shifts!.down)
    this.#press(grant, keycode)
    for (const shift of shifts?.keycodes ?? []) this.#send(shift, !shifts!.down)
    this.#pressed.set(wanted, { keycode, owner })
    this.#hasUnreadSpares ||= spare
  }

  /** Does nothing if the keysym is not down: a takeover may have released it. */
  lift(grant: FenceGrant, wanted: Keysym): void {
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

  releaseOwnedBy(owner: InputOwner): void {
    for (const [keysym, { keycode, owner: holder }] of this.#pressed) {
      if (holder !== owner) continue
      this.#pressed.delete(keysym)
      this.#release(keycode)
    }
  }

  /** How to type these keysyms, after mapping those that are missing. */
  async #prepare(grant: FenceGrant, keysyms: readonly Keysym[]): Promise<Stroke[]> {
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

  /** Waits until events of the agent's own keycodes were read, so that their meaning may change. */
  async #finish(usedSpares: boolean): Promise<void> {
    await this.#session.x.sync()
    if (usedSpares) await waitForReader(this.#session)
  }

  async #strike(grant: FenceGrant, strokes: readonly Stroke[], delayMs: number): Promise<void> {
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
   * Releases held modifiers and Caps Lock, which would change the text. Returns a function that
   * restores them. Num Lock stays, because it changes no key that types text.
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
   * The Shift keys to press or lift around a stroke, because a viewer's layout may have the
   * character on another level. None within shortcuts, where Shift is part of the shortcut.
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

  #press(grant: FenceGrant, keycode: number): void {
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
/** Programs that grabbed keys of the range release them when they notice the first change. */
const firstChangeMs = 60
