import { ClipboardBody, ResizeBody } from '@computer/contract'
import type {
  GuestInputEvent,
  ScreenFromGuest,
  ScreenToGuest,
} from '@computer/contract/guest-streams'
import type { Seat } from '../desktop/desktop.ts'
import type { InputHost } from '../desktop/input.ts'
import type { Presser } from '../desktop/pointer.ts'
import { resizeDisplay } from '../desktop/resize.ts'
import type { Grant } from '../fence.ts'
import { desktopDown, Refusal } from '../refusal.ts'

type Input = Extract<ScreenToGuest, { type: 'input' }>
type Refused = Extract<ScreenFromGuest, { type: 'refused' }>

export type InputListener = {
  /** At most once for a viewer and fence. */
  onRefused(message: Refused): void
  /** More is waiting than should be: none is to come until `onDrained`. */
  onFull(): void
  onDrained(): void
}

/**
 * What the viewers of one stream do, in the order they did it, through the same fence as POST /input.
 * Nobody waits until the X server has done it: it does things in the order they were sent, and the
 * fence waits for all of them before another holder is let in.
 */
export class ScreenInput {
  readonly #host: InputHost
  readonly #listener: InputListener
  readonly #presser: Presser = {}
  /** By viewer, the last fence that it was told to be refused. */
  readonly #refused = new Map<number, number>()
  #seat: Seat | undefined
  #waiting = 0
  #isClosed = false

  constructor(host: InputHost, listener: InputListener) {
    this.#host = host
    this.#listener = listener
  }

  take(input: Input): void {
    if (++this.#waiting === mostWaiting) this.#listener.onFull()
    void this.#perform(input).then(() => {
      if (--this.#waiting === mostWaiting - 1) this.#listener.onDrained()
    })
  }

  /** What its viewers hold goes up, and what still waits is not done. */
  close(): void {
    this.#isClosed = true
    this.#seat?.pointer.releaseOf(this.#presser)
    this.#seat?.keyboard.releaseOf(this.#presser)
  }

  async #perform({ viewer, fence, event }: Input): Promise<void> {
    try {
      await this.#host.fence.input(fence, async (grant) => {
        const seat = await this.#host.desktop.current()
        if (this.#isClosed) return
        if (!seat) throw desktopDown('the display does not answer')
        this.#seat = seat
        await this.#act(seat, grant, event)
      })
    } catch (error) {
      this.#refuse(viewer, fence, error)
    }
  }

  async #act(seat: Seat, grant: Grant, event: GuestInputEvent): Promise<void> {
    grant.check()
    switch (event.type) {
      case 'pointer':
        return seat.pointer.follow(grant, event, this.#presser)
      case 'key':
        if (event.keysym === 0 || event.keysym > maxKeysym) return
        if (!event.down) return seat.keyboard.lift(grant, event.keysym)
        await seat.keyboard.press(grant, event.keysym, this.#presser)
        // Closed while the keymap was changed for it.
        if (this.#isClosed) seat.keyboard.releaseOf(this.#presser)
        return
      case 'clipboard': {
        const { success } = ClipboardBody.safeParse({ text: event.text })
        if (success) await seat.clipboard.write('clipboard', event.text)
        return
      }
      case 'resize': {
        const { width, height } = event
        const { success } = ResizeBody.safeParse({ width, height })
        if (!success) return
        return resizeDisplay(seat.session, this.#host.rfbSocketPath, { width, height })
      }
    }
  }

  #refuse(viewer: number, fence: number, cause: unknown): void {
    if (this.#refused.get(viewer) === fence) return
    const refusal =
      cause instanceof Refusal ? cause : desktopDown('the display went away before it was done')
    this.#refused.delete(viewer)
    this.#refused.set(viewer, fence)
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= mostRemembered) break
      this.#refused.delete(oldest)
    }
    const { code, message, reason } = refusal
    const error = { code, message, ...(reason && { reason }) }
    this.#listener.onRefused({ type: 'refused', viewer, fence, error })
  }
}

/** What a viewer may send in five seconds, while a call of the API is at work. */
const mostWaiting = 1000
const mostRemembered = 1000
/** The protocol gives them 29 bits. */
const maxKeysym = 0x1fffffff
