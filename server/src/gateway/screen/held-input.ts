import type { GuestInputEvent } from '@computer/contract'

/** Nobody holds more keys, whatever a client says. */
const mostKeys = 256

/** What a viewer holds pressed, so that it goes up when the viewer goes. */
export class HeldInput {
  readonly #keysyms = new Set<number>()
  #pointer: Extract<GuestInputEvent, { type: 'pointer' }> | null = null

  note(event: GuestInputEvent): void {
    if (event.type === 'pointer') this.#pointer = event
    if (event.type !== 'key') return
    if (!event.down) this.#keysyms.delete(event.keysym)
    else if (this.#keysyms.size < mostKeys) this.#keysyms.add(event.keysym)
  }

  /** What lets go of all of it. */
  releases(): GuestInputEvent[] {
    const keys = [...this.#keysyms].map((keysym) => ({ type: 'key', keysym, down: false }) as const)
    const hasButtons = this.#pointer !== null && this.#pointer.buttons !== 0
    return [...keys, ...(hasButtons ? [{ ...this.#pointer!, buttons: 0 }] : [])]
  }
}
