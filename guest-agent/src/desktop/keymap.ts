import { eventCode } from '../x11/events.ts'
import { changeKeyboardMapping, getKeyboardMapping, getModifierMapping } from '../x11/requests.ts'
import type { XSession } from '../x11/session.ts'
import type { Keysym } from './keysyms.ts'

export type Stroke = {
  readonly keycode: number
  readonly shift: boolean
  /** A keycode of the agent's range, whose meaning may change once its events were read. */
  readonly spare: boolean
}

/**
 * The server's keymap, and a range of keycodes reserved for the agent, to which it maps keysyms
 * that the layout lacks. These are the keys of multimedia keyboards, which a machine does not have.
 * The range is contiguous, so that one request changes all of it and programs are notified once; it
 * is never left empty, so that the X server does not map other keysyms there.
 */
export class Keymap {
  readonly #session: XSession
  #isStale = true
  #strokes = new Map<Keysym, Stroke>()
  #modifiers = new Set<number>()
  /** The keysyms in the agent's range, least recently used first. */
  #spares = new Map<Keysym, number>()
  #free: number[] = []
  #isReserved = false

  constructor(session: XSession) {
    this.#session = session
    session.x.listen(eventCode.mappingNotify, () => (this.#isStale = true))
  }

  /** The keycodes of modifiers, including locks. */
  get modifiers(): ReadonlySet<number> {
    return this.#modifiers
  }

  /** Reads the map again if it was changed. */
  async refresh(): Promise<void> {
    const { x } = this.#session
    await x.sync()
    if (!this.#isStale) return
    this.#isStale = false
    const { minKeycode, maxKeycode } = x.setup
    const [map, modifiers] = await Promise.all([
      x.ask(getKeyboardMapping(minKeycode, maxKeycode - minKeycode + 1)),
      x.ask(getModifierMapping()),
    ])
    this.#modifiers = new Set(modifiers.subarray(32).filter((keycode) => keycode !== 0))
    const width = map[1]!
    const at = (keycode: number, level: number) =>
      map.readUInt32LE(32 + ((keycode - minKeycode) * width + level) * 4)

    this.#strokes = new Map()
    for (const level of [0, 1]) {
      for (let keycode = minKeycode; keycode <= maxKeycode; keycode++) {
        if (isSpare(keycode)) continue
        const keysym = at(keycode, level)
        if (keysym === 0 || this.#strokes.has(keysym)) continue
        if (level === 1 && isKeypad(keysym)) continue
        this.#strokes.set(keysym, { keycode, shift: level === 1, spare: false })
      }
    }
    for (const [keysym, keycode] of this.#spares) {
      if (at(keycode, 0) !== keysym || at(keycode, 1) !== keysym) this.#spares.delete(keysym)
    }
    const used = new Set(this.#spares.values())
    this.#free = spareKeycodes.filter((keycode) => !used.has(keycode))
  }

  /** How to type a keysym with the present map. */
  find(keysym: Keysym): Stroke | undefined {
    const stroke = this.#strokes.get(keysym)
    if (stroke) return stroke
    const keycode = this.#spares.get(keysym)
    if (keycode === undefined) return undefined
    this.#spares.delete(keysym)
    this.#spares.set(keysym, keycode)
    return { keycode, shift: false, spare: true }
  }

  /** The end of the longest run from `start` that can be typed after one change of the map. */
  reach(keysyms: readonly Keysym[], start: number): number {
    const wanted = new Set<Keysym>()
    let end = start
    for (; end < keysyms.length; end++) {
      const keysym = keysyms[end]!
      if (this.#strokes.has(keysym) || wanted.has(keysym)) continue
      if (wanted.size === spareKeycodes.length) break
      wanted.add(keysym)
    }
    return end
  }

  /**
   * Maps those of these keysyms that are missing, which must be no more than `reach` allows. No
   * event of the range may be unread. Returns true if the map changed and programs need time to
   * notice.
   */
  assign(keysyms: Iterable<Keysym>): boolean {
    const wanted = new Set([...keysyms].filter((keysym) => !this.#strokes.has(keysym)))
    const missing = [...wanted].filter((keysym) => !this.#spares.has(keysym))
    if (missing.length === 0) return false
    const evictable = [...this.#spares].filter(([keysym]) => !wanted.has(keysym))
    for (const keysym of missing) {
      let keycode = this.#free.pop()
      if (keycode === undefined) {
        const [oldest, freed] = evictable.shift()!
        this.#spares.delete(oldest)
        keycode = freed
      }
      this.#spares.set(keysym, keycode)
    }
    this.#write()
    return true
  }

  /** Until the first change: other programs may still grab the keys that the range had before. */
  get isUnreserved(): boolean {
    return !this.#isReserved
  }

  #write(): void {
    this.#isReserved = true
    const byKeycode = new Map([...this.#spares].map(([keysym, keycode]) => [keycode, keysym]))
    // The same on both levels, so that neither Shift nor Caps Lock changes it.
    const keysyms = spareKeycodes.flatMap((keycode) => {
      const keysym = byKeycode.get(keycode) ?? placeholder
      return [keysym, keysym]
    })
    this.#session.x.send(changeKeyboardMapping(spareKeycodes[0]!, 2, keysyms))
  }
}

const spareKeycodes = Array.from({ length: 40 }, (_, index) => 208 + index)
/** A private-use character that no text needs. */
const placeholder = 0x0100f8ff

/** The keypad's second level depends on Num Lock, which Shift may reverse. */
function isKeypad(keysym: Keysym): boolean {
  return keysym >= 0xff80 && keysym <= 0xffbd
}

function isSpare(keycode: number): boolean {
  return keycode >= spareKeycodes[0]! && keycode <= spareKeycodes.at(-1)!
}
