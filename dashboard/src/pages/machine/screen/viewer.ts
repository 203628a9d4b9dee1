import {
  ApiError,
  type InputLease,
  type Screen,
  type ScreenMessage,
  type ScreenPointer,
} from '@computer/sdk'
import { openView, type Scale, type ScreenSource, type Source, type View } from './view.ts'

/**
 * `old`: the connection is broken or silent; the picture is as of `since`. `private`: only the session that drives may
 * see the screen now.
 */
export type Picture =
  | { readonly is: 'none'; readonly isConnected: boolean; readonly hasFailed: boolean }
  | { readonly is: 'live' }
  | { readonly is: 'old'; readonly since: number }
  | { readonly is: 'private' }

export type ViewerEvents = {
  readonly onPicture: (picture: Picture) => void
  /** The screen of another source is shown now. */
  readonly onSource: (source: Source) => void
  readonly onLease: (lease: InputLease) => void
  readonly onLeaseLost: (fence: number) => void
  /** Somebody has closed the session of this page. */
  readonly onSessionClosed: () => void
  readonly onCopied: (text: string) => void
  readonly onPointers: (pointers: readonly ScreenPointer[]) => void
  /** The screen may not be shown any more. */
  readonly onRefused: (error: unknown) => void
}

export type Viewer = ReturnType<typeof startViewer>

const silenceMs = 12_000
const firstRetryMs = 500
const retryMs = 5_000
/** The next picture covers the one before this long, so that nothing flickers. */
const overlapMs = 300

const refusals: Readonly<Record<number, readonly [ApiError['code'], string]>> = {
  4401: ['unauthenticated', 'Your sign-in has ended.'],
  4403: ['permission_denied', 'You may not look at this machine any more.'],
  4404: ['not_found', 'The machine is gone.'],
}
const isPrivateToAnother = 4409
const sessionClosed = 4410
const noPointers: readonly ScreenPointer[] = []

/**
 * The live screen of a machine in an element of the page. It connects again by itself. A connection cannot be
 * continued, nor change between looking and driving: another takes its place once it has a picture.
 */
export function startViewer(
  host: HTMLElement,
  machine: ScreenSource,
  events: ViewerEvents,
  source: Source = 'watch',
) {
  let scale: Scale = 'fit'
  let mayType = false
  let hasEnded = false
  let isPrivate = false
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let shown: View | undefined
  let coming: View | undefined
  let reported = ''
  let pointers: readonly ScreenPointer[] = noPointers
  let ownPlace: Parameters<Screen['point']>[0] = null

  const isFresh = (view: View) => view.isOpen() && Date.now() - view.lastSignAt() <= silenceMs
  const report = () => {
    const picture: Picture = isPrivate
      ? { is: 'private' }
      : !shown
        ? { is: 'none', isConnected: coming?.isOpen() ?? false, hasFailed: failures > 0 }
        : isFresh(shown)
          ? { is: 'live' }
          : { is: 'old', since: shown.lastSignAt() }
    const text = JSON.stringify(picture)
    if (text !== reported) events.onPicture(picture)
    reported = text
    const now = shown && isFresh(shown) ? shown.pointers() : noPointers
    if (now !== pointers) events.onPointers(now)
    pointers = now
  }
  const apply = () => {
    for (const view of [shown, coming]) {
      const rfb = view?.rfb()
      if (!rfb || !view) continue
      const takesInput = view === shown && mayType && view.source === 'drive' && isFresh(view)
      if (rfb.viewOnly === takesInput) rfb.viewOnly = !takesInput
      const isScaled = scale !== 'actual'
      if (rfb.scaleViewport !== isScaled) rfb.scaleViewport = isScaled
      const canvas = view.canvas()
      canvas?.setAttribute('aria-label', `Screen of ${machine.name}`)
      canvas?.setAttribute('role', takesInput ? 'application' : 'img')
      if (canvas) canvas.tabIndex = takesInput ? 0 : -1
    }
  }

  const connect = () => {
    clearTimeout(timer)
    timer = undefined
    coming?.end()
    const view = openView(host, machine, source, {
      onPicture: () => view === coming && adopt(view),
      onMessage: (message) => {
        if (view === coming || view === shown) receive(message)
      },
      onCopied: (text) => view === shown && events.onCopied(text),
      onClosed: (reason) => lose(view, reason),
    })
    coming = view
    report()
  }
  const adopt = (view: View) => {
    const before = shown
    shown = view
    coming = undefined
    isPrivate = false
    failures = 0
    // The pointer of this page goes over to its new connection.
    before?.point(null)
    if (ownPlace) view.point(ownPlace)
    if (before) setTimeout(before.end, overlapMs)
    apply()
    report()
    events.onSource(view.source)
  }
  const lose = (view: View, reason: { code: number } | { error: unknown }) => {
    if (view !== coming && view !== shown) return
    if ('code' in reason && reason.code === isPrivateToAnother) hide()
    if (view === coming) {
      coming = undefined
      view.end()
      failures++
    }
    const error = 'error' in reason ? reason.error : refusal(reason.code)
    // Who may not drive is told by the attempt to take over, and goes on looking.
    const mayLook = 'error' in reason && view.source === 'drive'
    if (isRefusal(error) && !mayLook) {
      stop()
      events.onRefused(error)
    } else {
      if ('code' in reason && reason.code === sessionClosed && view.source === source)
        events.onSessionClosed()
      retry()
    }
    apply()
    report()
  }
  /** The last picture was taken before the screen became private, and would pass for what is there now. */
  const hide = () => {
    isPrivate = true
    failures++
    shown?.end()
    shown = undefined
  }
  const retry = () => {
    if (coming || timer || hasEnded) return
    timer = setTimeout(connect, failures === 0 ? firstRetryMs : retryMs)
  }
  const receive = (message: ScreenMessage) => {
    if (message.type === 'lease') events.onLease(message)
    if (message.type === 'lease_lost') events.onLeaseLost(message.fence)
    // The size may have changed, or the screen may have become ready.
    if (message.type === 'ready') apply()
    report()
  }
  /** No event tells that a network has gone silent. */
  const watchdog = setInterval(() => {
    if (coming && Date.now() - coming.lastSignAt() > silenceMs) {
      const silent = coming
      lose(silent, { code: 1006 })
    }
    if (shown && !isFresh(shown)) retry()
    apply()
    report()
  }, 1_000)
  const stop = () => {
    hasEnded = true
    clearTimeout(timer)
    clearInterval(watchdog)
  }

  connect()
  return {
    /** Shows the screen through a session, or without one. */
    setSource(next: Source) {
      if (hasEnded || next === source) return
      source = next
      if (shown?.source === next && isFresh(shown)) {
        // It has changed back before the other had a picture.
        clearTimeout(timer)
        timer = undefined
        coming?.end()
        coming = undefined
        events.onSource(next)
      } else connect()
      apply()
    },
    /** Ends the connections, with the picture; the next source begins afresh. */
    reset() {
      coming?.end()
      shown?.end()
      coming = shown = undefined
      retry()
    },
    /** Tries now what it would try again later. */
    retryNow() {
      if (timer && !hasEnded) connect()
    },
    /** Resolves once text for the machine's clipboard is on its way, before what is sent next. */
    async writeClipboard(text: string) {
      if (!shown) throw new Error('The screen is not connected. Try again in a moment.')
      await shown.writeClipboard(text)
    },
    setInput(next: boolean) {
      mayType = next
      apply()
    },
    setScale(next: Scale) {
      scale = next
      apply()
    },
    canvas: () => shown?.canvas() ?? null,
    /** Shows the others on the screen where the person points; null: not at the picture. */
    point(at: typeof ownPlace) {
      if (at || ownPlace) shown?.point(at)
      ownPlace = at
    },
    focus: () => shown?.rfb()?.focus({ preventScroll: true }),
    /** Sends a key to the machine, pressed or released. */
    sendKey: (keysym: number, code: string, isDown: boolean) =>
      shown?.rfb()?.sendKey(keysym, code, isDown),
    end() {
      stop()
      coming?.end()
      shown?.end()
      coming = shown = undefined
    },
  }
}

function refusal(code: number): ApiError | undefined {
  const [name, message] = refusals[code] ?? []
  return name && message ? new ApiError(name, message) : undefined
}

function isRefusal(error: unknown): boolean {
  const codes = ['unauthenticated', 'permission_denied', 'not_found', 'unsupported_operation']
  return error instanceof ApiError && codes.includes(error.code)
}
