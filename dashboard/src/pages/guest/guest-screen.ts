import { ApiError, type GuestHelp, type ScreenMessage } from '@computer/sdk'
import { handleKeys } from '../machine/screen/keys.ts'
import { shareOwnPointer } from '../machine/screen/own-pointer.ts'
import { createPointerStore } from '../machine/screen/pointer-store.ts'
import type { Scale } from '../machine/screen/view.ts'
import { startViewer, type Picture } from '../machine/screen/viewer.ts'
import { openGuestChannel } from './guest-channel.ts'
import { helpGuest } from './guest-client.ts'
import { keysOf } from './keys-of-text.ts'

/*
 * The screen that a guest has for a help request. All input goes over its connection, because a guest may call nothing
 * else. A guest who has lost it looks at nothing: there is no watching without a session.
 */

/** The server grants it for a minute. */
const renewalMs = 20_000
/** Two messages a key; the gateway closes a connection that sends more than 200 a second. */
const keyMs = 12

export type GuestScreenState = {
  readonly picture: Picture
  /** Keys reach the machine. */
  readonly isHeld: boolean
  readonly copied: string | null
  readonly refusal: unknown
}

export const initialGuestScreen: GuestScreenState = {
  picture: { is: 'none', isConnected: false, hasFailed: false },
  isHeld: false,
  copied: null,
  refusal: undefined,
}

export type GuestScreen = ReturnType<typeof startGuestScreen>

export function startGuestScreen(
  host: HTMLElement,
  { machine, sessionId }: { readonly machine: GuestHelp['machine']; readonly sessionId: string },
  {
    onChange,
    onLost,
    onLeave,
  }: {
    readonly onChange: (change: Partial<GuestScreenState>) => void
    /** Somebody else has the machine now, by name, or nobody has. */
    readonly onLost: (to: string | null) => void
    /** The person asks for the focus to go back to the page. */
    readonly onLeave: () => void
  },
) {
  const stopping = new AbortController()
  const { signal } = stopping
  let isHeld = false
  const pointers = createPointerStore()
  const source = {
    name: machine.name,
    screen: ({ onMessage }: { readonly onMessage: (message: ScreenMessage) => void }) =>
      openGuestChannel(sessionId, onMessage),
  }
  const viewer = startViewer(
    host,
    source,
    {
      onPicture: (picture) => {
        if (picture.is === 'private') lose(null)
        else onChange({ picture })
      },
      onSource: () => isHeld && viewer.focus(),
      onLease: ({ holder }) => {
        if (holder?.sessionId === sessionId) hold()
        else lose(holder?.openedBy.name ?? null)
      },
      // The lease that follows tells who has it.
      onLeaseLost: () => {},
      onSessionClosed: () => lose(null),
      onCopied: (text) => void keepCopied(text),
      onPointers: pointers.set,
      onRefused: (refusal) => onChange({ refusal }),
    },
    'drive',
  )
  shareOwnPointer(host, viewer, signal)
  const keys = handleKeys(host, viewer, { writeClipboard: viewer.writeClipboard, onLeave, signal })
  const hold = () => {
    if (isHeld || signal.aborted) return
    isHeld = true
    viewer.setInput(true)
    viewer.focus()
    keys.setActive(true)
    onChange({ isHeld })
  }
  const lose = (to: string | null) => {
    if (signal.aborted) return
    end()
    onLost(to)
  }
  const renew = async () => {
    try {
      await helpGuest.renew({ signal })
    } catch (error) {
      // Others pass: the lease outlasts two more tries.
      if (error instanceof ApiError && ['conflict', 'precondition_failed'].includes(error.code))
        lose(null)
    }
  }
  const keepCopied = async (text: string) => {
    if (!isHeld || keys.isOwn(text)) return
    const isKept = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    onChange({ copied: isKept ? null : text })
  }
  const renewal = setInterval(() => void renew(), renewalMs)
  // A hidden page runs its timers rarely.
  const onVisible = () => document.visibilityState === 'visible' && void renew()
  document.addEventListener('visibilitychange', onVisible, { signal })
  const end = () => {
    stopping.abort()
    clearInterval(renewal)
    viewer.end()
  }
  return {
    end,
    focus: viewer.focus,
    canvas: viewer.canvas,
    pointers,
    press: keys.press,
    paste: keys.paste,
    setScale: (scale: Scale) => viewer.setScale(scale),
    /** Types a text key by key. */
    async type(text: string): Promise<void> {
      for (const key of keysOf(text)) {
        signal.throwIfAborted()
        keys.press(key)
        await new Promise((resolve) => setTimeout(resolve, keyMs))
      }
    },
  }
}
