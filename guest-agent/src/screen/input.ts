import { ClipboardBody, ResizeBody } from '@computer/contract'
import type {
  GuestInputEvent,
  ScreenFromGuest,
  ScreenToGuest,
} from '@computer/contract/guest-streams'
import type { DesktopSession } from '../desktop/desktop.ts'
import type { InputHost } from '../desktop/input.ts'
import type { InputOwner } from '../desktop/pointer.ts'
import { resizeDisplay } from '../desktop/resize.ts'
import type { FenceGrant } from '../fence.ts'
import { desktopDown, AgentError } from '../errors.ts'

type Input = Extract<ScreenToGuest, { type: 'input' }>
type Refused = Extract<ScreenFromGuest, { type: 'refused' }>

type InputListener = {
  /** At most once for a viewer and fence. */
  onRefused(message: Refused): void
  /** The queue is full: pass no more input until `onDrained`. */
  onFull(): void
  onDrained(): void
}

/**
 * Performs the input of the viewers of one stream, in order, through the same fence as POST /input.
 * It does not wait for the X server, which keeps the order; the fence waits for it before it admits
 * another holder.
 */
export class ScreenInput {
  readonly #host: InputHost
  readonly #listener: InputListener
  readonly #owner: InputOwner = {}
  /** The last fence that was refused, by viewer. */
  readonly #refused = new Map<number, number>()
  #session: DesktopSession | undefined
  #queued = 0
  #isClosed = false

  constructor(host: InputHost, listener: InputListener) {
    this.#host = host
    this.#listener = listener
  }

  enqueue(input: Input): void {
    if (++this.#queued === maxQueued) this.#listener.onFull()
    void this.#perform(input).then(() => {
      if (--this.#queued === maxQueued - 1) this.#listener.onDrained()
    })
  }

  /** Releases what its viewers hold and drops queued input. */
  close(): void {
    this.#isClosed = true
    this.#session?.pointer.releaseOwnedBy(this.#owner)
    this.#session?.keyboard.releaseOwnedBy(this.#owner)
  }

  async #perform({ viewer, fence, event }: Input): Promise<void> {
    try {
      await this.#host.fence.input(fence, async (grant) => {
        const session = await this.#host.desktop.current()
        if (this.#isClosed) return
        if (!session) throw desktopDown('the display does not respond')
        this.#session = session
        await this.#act(session, grant, event)
      })
    } catch (error) {
      this.#refuse(viewer, fence, error)
    }
  }

  async #act(session: DesktopSession, grant: FenceGrant, event: GuestInputEvent): Promise<void> {
    grant.check()
    switch (event.type) {
      case 'pointer':
        return session.pointer.follow(grant, event, this.#owner)
      case 'key':
        if (event.keysym === 0 || event.keysym > maxKeysym) return
        if (!event.down) return session.keyboard.lift(grant, event.keysym)
        await session.keyboard.press(grant, event.keysym, this.#owner)
        // The stream may have closed while the keymap was changed.
        if (this.#isClosed) session.keyboard.releaseOwnedBy(this.#owner)
        return
      case 'clipboard': {
        const { success } = ClipboardBody.safeParse({ text: event.text })
        if (success) await session.clipboard.write('clipboard', event.text)
        return
      }
      case 'resize': {
        const { width, height } = event
        const { success } = ResizeBody.safeParse({ width, height })
        if (!success) return
        return resizeDisplay(session.xSession, this.#host.rfbSocketPath, { width, height })
      }
    }
  }

  #refuse(viewer: number, fence: number, cause: unknown): void {
    if (this.#refused.get(viewer) === fence) return
    const refusal =
      cause instanceof AgentError ? cause : desktopDown('the display went away during the input')
    this.#refused.delete(viewer)
    this.#refused.set(viewer, fence)
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= maxRefused) break
      this.#refused.delete(oldest)
    }
    const { code, message, reason } = refusal
    const error = { code, message, ...(reason && { reason }) }
    this.#listener.onRefused({ type: 'refused', viewer, fence, error })
  }
}

/** A viewer's input of about five seconds, in case a call of the API is running that long. */
const maxQueued = 1000
const maxRefused = 1000
/** X keysyms have 29 bits. */
const maxKeysym = 0x1fffffff
