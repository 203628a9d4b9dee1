import type { HelpRequest, InputLease, Machine } from '@computer/sdk'
import {
  endControl,
  endControlOnLeave,
  handBackControl,
  renewalMs,
  renewControl,
  takeControl,
} from '../../../api/control.ts'
import {
  answerHelp,
  releaseHelp,
  releaseHelpOnLeave,
  takeHelp,
  type HelpAnswer,
} from '../../../api/help-requests.ts'
import { handleKeys } from './keys.ts'
import { matchWindow } from './match-window.ts'
import { shareOwnPointer } from './own-pointer.ts'
import { createPointerStore } from './pointer-store.ts'
import type { Scale, Source } from './view.ts'
import { startViewer, type Picture } from './viewer.ts'

/*
 * The screen of a machine and the person's control of it. What the server says decides: the page shows the
 * holder of the lease, and never takes control back by itself.
 */

export type ScreenState = {
  readonly picture: Picture
  /** Null until the server has told who holds it. */
  readonly lease: InputLease | null
  /** The session of this page while it drives. */
  readonly sessionId: string | null
  /** What the shown connection is for. It changes a moment after control does. */
  readonly source: Source
  /** The help request for which this page drives. */
  readonly helpId: string | null
  readonly busy: 'taking' | 'handing' | null
  /** Control was lost since it was last taken, to somebody else or because it expired. */
  readonly isLost: boolean
  readonly failure: { readonly title: string; readonly error: unknown } | null
  /** Text that was copied in the machine and that the browser has not let into its clipboard. */
  readonly copied: string | null
  /** Why the screen may not be shown any more. */
  readonly refusal: unknown
}

export const initialState: ScreenState = {
  picture: { is: 'none', isConnected: false, hasFailed: false },
  lease: null,
  sessionId: null,
  helpId: null,
  source: 'watch',
  busy: null,
  isLost: false,
  failure: null,
  copied: null,
  refusal: undefined,
}

export type LiveScreen = ReturnType<typeof startScreen>

const hiddenMs = 5 * 60_000

export function startScreen(
  host: HTMLElement,
  machine: Machine,
  {
    onChange,
    onLeave,
  }: {
    readonly onChange: (change: Partial<ScreenState>) => void
    /** The person asks for the focus to go back to the page. */
    readonly onLeave: () => void
  },
) {
  let lease: InputLease | null = null
  /** While this page drives. */
  let grant: InputLease | null = null
  /** The help request whose session holds the lease of this page. */
  let help: Pick<HelpRequest, 'id'> | null = null
  /** The first fence since control was taken: messages about earlier ones are old. */
  let sinceFence = 0
  let scale: Scale = 'fit'
  let following: AbortController | undefined
  let renewal: ReturnType<typeof setInterval> | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  /** The person hands back: what another takes from now on is not taken from them. */
  let isHanding = false
  let hasEnded = false
  const stopping = new AbortController()
  const { signal } = stopping
  const pointers = createPointerStore()
  const change = (next: Partial<ScreenState>) => !hasEnded && onChange(next)

  const viewer = startViewer(host, machine, {
    onPicture: (picture) => change({ picture }),
    onSource: (source) => {
      change({ source })
      // The socket that needed the session is replaced.
      if (source === 'watch') void endControl(machine).catch(() => {})
      // Keys that the person goes on typing must not act on the page. A picture that was taken away had the focus before.
      const focused = document.activeElement
      if (host.contains(focused) || (grant && focused === document.body)) viewer.focus()
      follow()
    },
    onLease: (next) => {
      if (next.fence < (lease?.fence ?? 0)) return
      show(next)
      const isOther = next.holder?.sessionId !== grant?.holder?.sessionId
      if (grant && isOther && next.fence > grant.fence) lose()
    },
    onLeaseLost: (fence) => {
      if (grant && fence >= sinceFence) lose()
    },
    onSessionClosed: () => (grant ? lose() : drop()),
    onCopied: (text) => void keepCopied(text),
    onPointers: pointers.set,
    onRefused: (refusal) => {
      drop()
      void endControl(machine).catch(() => {})
      change({ refusal })
    },
  })
  shareOwnPointer(host, viewer, signal)
  const keys = handleKeys(host, viewer, {
    writeClipboard: (text) => machine.clipboard.write(text),
    onLeave,
    signal,
  })

  const show = (next: InputLease) => {
    lease = next
    change({ lease })
  }
  const hold = (next: InputLease) => {
    grant = next
    sinceFence = next.fence
    show(next)
    change({
      sessionId: next.holder!.sessionId,
      helpId: help?.id ?? null,
      isLost: false,
      copied: null,
    })
    viewer.setSource('drive')
    viewer.setInput(true)
    viewer.focus()
    follow()
    keys.setActive(true)
    clearInterval(renewal)
    renewal = setInterval(() => void renew(), renewalMs)
  }
  /** The display follows the window only while this page drives. */
  const follow = () => {
    following?.abort()
    following = undefined
    if (scale !== 'match' || !grant) return
    following = new AbortController()
    matchWindow(host, machine, following.signal)
  }
  /** Looks only from now on. */
  const drop = () => {
    grant = null
    help = null
    clearInterval(renewal)
    viewer.setInput(false)
    keys.setActive(false)
    viewer.setSource('watch')
    follow()
    change({ sessionId: null, helpId: null })
  }
  const lose = () => {
    drop()
    change({ isLost: !isHanding })
  }
  const renew = async () => {
    const held = grant
    if (!held) return
    try {
      const renewed = await renewControl(machine, held)
      if (grant !== held) return
      if (renewed) grant = renewed
      else lose()
    } catch {
      // The lease outlasts two more tries. If it is lost, the server says so.
    }
  }
  const take = async () => {
    change({ busy: 'taking', failure: null, isLost: false })
    viewer.setSource('drive')
    try {
      const taken = await takeControl(machine)
      if (!hasEnded) hold(taken)
    } catch (error) {
      drop()
      change({ failure: { title: 'You could not take over.', error } })
    }
    change({ busy: null })
  }
  /** Takes a help request, with the session that the server opens for it. */
  const takeForHelp = async (request: Pick<HelpRequest, 'id'>) => {
    change({ busy: 'taking', failure: null, isLost: false })
    if (grant) {
      drop()
      // The connection of the session that is replaced would be closed while the next one drives.
      viewer.reset()
    }
    try {
      const taken = await takeHelp(request)
      if (hasEnded) void releaseHelp(request).catch(() => {})
      else {
        help = request
        hold(taken.lease)
        // The server has granted it for less time than a hidden page needs.
        void renew()
      }
    } catch (error) {
      change({ failure: { title: 'You could not take over.', error } })
    }
    change({ busy: null })
  }
  const giveUp = async (call: () => Promise<void>) => {
    change({ busy: 'handing', failure: null })
    isHanding = true
    viewer.setInput(false)
    try {
      await call()
      // Somebody else may hold it by now.
      if (lease && grant && lease.holder?.sessionId === grant.holder?.sessionId)
        show({ ...lease, holder: null, acquiredAt: null, expiresAt: null })
      drop()
    } catch (error) {
      viewer.setInput(grant !== null)
      change({ failure: { title: 'The machine could not be handed back.', error } })
    }
    isHanding = false
    change({ busy: null })
  }
  const handBack = async () => {
    const request = help
    await giveUp(() => (request ? releaseHelp(request) : handBackControl(machine)))
  }
  const keepCopied = async (text: string) => {
    if (!grant || keys.isOwn(text)) return
    const isKept = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    change({ copied: isKept ? null : text })
  }

  const onVisibility = () => {
    clearTimeout(hiding)
    if (document.visibilityState === 'hidden')
      hiding = setTimeout(() => grant && void handBack(), hiddenMs)
  }
  document.addEventListener('visibilitychange', onVisibility, { signal })
  const onPageHide = () => {
    if (help) releaseHelpOnLeave(help, machine)
    else if (grant) endControlOnLeave(machine, grant.holder!.sessionId)
    drop()
  }
  window.addEventListener('pagehide', onPageHide, { signal })

  return {
    take,
    takeForHelp,
    handBack,
    /** Answers a help request, and hands back if it is the one for which this page drives. */
    answer: (request: Pick<HelpRequest, 'id'>, answer: HelpAnswer) =>
      help?.id === request.id
        ? giveUp(() => answerHelp(request, answer))
        : answerHelp(request, answer),
    retryNow: viewer.retryNow,
    focus: viewer.focus,
    press: keys.press,
    paste: keys.paste,
    type: (text: string) => machine.keyboard.type(text),
    canvas: viewer.canvas,
    pointers,
    setScale(next: Scale) {
      scale = next
      viewer.setScale(next)
      follow()
    },
    end() {
      hasEnded = true
      stopping.abort()
      following?.abort()
      clearInterval(renewal)
      clearTimeout(hiding)
      viewer.end()
      void (help ? releaseHelp(help) : endControl(machine)).catch(() => {})
    },
  }
}
