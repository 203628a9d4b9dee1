import type { Screen, ScreenMessage, ScreenPointer } from '@computer/sdk'
import type RFB from '@novnc/novnc'
import { tapChannel, type ScreenChannel } from './channel.ts'

/** Looking needs no session; input needs one. */
export type Source = 'watch' | 'drive'
export type Scale = 'fit' | 'actual' | 'match'

/** The machine of a screen, and the way to its pixels. */
export type ScreenSource = {
  readonly name: string
  screen(options: {
    readonly watch: boolean
    readonly onMessage: (message: ScreenMessage) => void
  }): Promise<ScreenChannel>
}

export type ViewEvents = {
  /** Its first picture is on the page. */
  readonly onPicture: () => void
  readonly onMessage: (message: ScreenMessage) => void
  /** Text was copied inside the machine. */
  readonly onCopied: (text: string) => void
  /** The connection has ended, or has failed to begin. Not called after `end`. */
  readonly onClosed: (reason: { readonly code: number } | { readonly error: unknown }) => void
}

/** One connection to a screen, and its picture, which stays on the page until `end`. */
export type View = {
  readonly source: Source
  readonly isOpen: () => boolean
  /** When the last frame or tick came, by this page's clock. */
  readonly lastSignAt: () => number
  /** Where the others on the screen point. */
  readonly pointers: () => readonly ScreenPointer[]
  /** Shows them where the person points. */
  readonly point: Screen['point']
  readonly rfb: () => RFB | undefined
  readonly canvas: () => HTMLCanvasElement | null
  readonly writeClipboard: (text: string) => Promise<void>
  readonly end: () => void
}

/** A picture is drawn a moment after its frame has come. */
const drawMs = 100
/** The server asks for text that it was told of. */
const clipboardMs = 5_000
/** The type of the message of RFB that brings pixels. */
const framebufferUpdate = 0

export function openView(
  host: HTMLElement,
  machine: ScreenSource,
  source: Source,
  events: ViewEvents,
): View {
  const ending = new AbortController()
  const { signal } = ending
  const layer = document.createElement('div')
  layer.className = 'absolute inset-0'
  host.append(layer)
  let lastSignAt = Date.now()
  let isOpen = false
  let pointers: readonly ScreenPointer[] = []
  let point: Screen['point'] = () => {}
  let rfb: RFB | undefined
  let onText: (() => void) | undefined

  const onMessage = (message: ScreenMessage) => {
    lastSignAt = Date.now()
    if (message.type === 'pointers') pointers = message.pointers
    if (!signal.aborted) events.onMessage(message)
  }
  const open = async () => {
    const [NoVnc, screen] = await Promise.all([
      loadNoVnc(),
      machine.screen({ watch: source === 'watch', onMessage }),
    ])
    // A browser reports a socket that is closed while it connects as a fault of the page.
    if (signal.aborted) return screen.close()
    // It has ended while noVNC was being loaded, which refuses such a channel.
    if (screen.readyState !== 1) return events.onClosed({ code: 1006 })
    isOpen = true
    point = (at) => screen.point(at)
    rfb = show(NoVnc, screen)
  }
  const show = (NoVnc: typeof RFB, screen: ScreenChannel): RFB => {
    let isReady = false
    let isOver = false
    let hadFocus = false
    let hasPicture = false
    const onFrame = (data: ArrayBuffer) => {
      lastSignAt = Date.now()
      const isUpdate = new Uint8Array(data)[0] === framebufferUpdate
      if (!isReady || hasPicture || !isUpdate) return
      hasPicture = true
      setTimeout(() => !signal.aborted && events.onPicture(), drawMs)
    }
    const onClose = (code: number) => {
      isOpen = false
      hadFocus = layer.contains(document.activeElement)
      // noVNC reports a connection that closes before it is established as a fault of the page.
      if (!isReady && !isOver) shown.disconnect()
      if (!signal.aborted) events.onClosed({ code })
    }
    const shown = new NoVnc(
      layer,
      tapChannel(screen, { onFrame, onText: () => onText?.(), onClose }),
    )
    shown.viewOnly = true
    // The picture before shines through until this one is drawn.
    shown.background = 'transparent'
    const picture = layer.firstElementChild
    shown.addEventListener('connect', () => (isReady = true))
    shown.addEventListener('disconnect', () => {
      isOver = true
      if (!picture || signal.aborted) return
      // noVNC takes its picture away. What is typed on must not become shortcuts of the page.
      layer.append(picture)
      if (hadFocus) shown.focus({ preventScroll: true })
    })
    shown.addEventListener('clipboard', (event) =>
      events.onCopied((event as CustomEvent<{ text: string }>).detail.text),
    )
    signal.addEventListener('abort', () => !isOver && shown.disconnect())
    return shown
  }
  open().catch((error: unknown) => {
    if (!signal.aborted) events.onClosed({ error })
  })
  return {
    source,
    isOpen: () => isOpen,
    lastSignAt: () => lastSignAt,
    pointers: () => pointers,
    point: (at) => point(at),
    rfb: () => rfb,
    canvas: () => layer.querySelector('canvas'),
    async writeClipboard(text) {
      if (!rfb || rfb.viewOnly) throw new Error('Take over first.')
      const sent = Promise.withResolvers<void>()
      const late = new Error('The machine did not take the text. Try again.')
      const timer = setTimeout(() => sent.reject(late), clipboardMs)
      onText = sent.resolve
      rfb.clipboardPasteFrom(text)
      await sent.promise.finally(() => clearTimeout(timer))
    },
    end() {
      ending.abort()
      layer.remove()
    },
  }
}

/** noVNC tries the browser's H.264 decoder while it loads, which never answers on some phones. */
async function loadNoVnc(): Promise<typeof RFB> {
  delete (globalThis as { VideoDecoder?: unknown }).VideoDecoder
  return (await import('@novnc/novnc')).default
}
