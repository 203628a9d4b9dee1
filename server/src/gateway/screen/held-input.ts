import type { GuestInputEvent } from '@computer/contract'

/** Upper bound on keys tracked per client (untrusted input). */
const maxKeys = 256

/** Keys and buttons that a client holds down, to be released when it disconnects. */
export class HeldInput {
  readonly #keysyms = new Set<number>()
  #pointer: Extract<GuestInputEvent, { type: 'pointer' }> | null = null

  note(event: GuestInputEvent): void {
    if (event.type === 'pointer') this.#pointer = event
    if (event.type !== 'key') return
    if (!event.down) this.#keysyms.delete(event.keysym)
    else if (this.#keysyms.size < maxKeys) this.#keysyms.add(event.keysym)
  }

  /** The events that release all of it. */
  releases(): GuestInputEvent[] {
    const keys = [...this.#keysyms].map((keysym) => ({ type: 'key', keysym, down: false }) as const)
    const hasButtons = this.#pointer !== null && this.#pointer.buttons !== 0
    return [...keys, ...(hasButtons ? [{ ...this.#pointer!, buttons: 0 }] : [])]
  }
}
