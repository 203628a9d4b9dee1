import type { ApiError, GuestHelp } from '@computer/sdk'
import { useEffect, useState } from 'react'
import { helpGuest } from './guest-client.ts'
import { isUnanswered, spendLink, takeToken } from './spend-link.ts'

/** How long the server holds a read, unless the state changes before. */
const waitSeconds = 50
/** Between a read that has failed and the next. */
const againMs = 3_000

export type GuestState =
  | { readonly is: 'opening' }
  /** There is nothing that this browser may open. */
  | { readonly is: 'refused'; readonly error: unknown }
  /** `isOver`: the guest has no access any more. */
  | { readonly is: 'known'; readonly help: GuestHelp; readonly isOver: boolean }

/** The help request of the link or of the cookie, kept current while the page is open. */
export function useGuestHelp() {
  const [state, setState] = useState<GuestState>({ is: 'opening' })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    // Another link that is opened in this tab changes the fragment alone.
    const onHash = () => location.hash !== '' && location.reload()
    window.addEventListener('hashchange', onHash, leaving)
    void followHelp(setState, leaving.signal)
    return () => leaving.abort()
  }, [attempt])
  return {
    state,
    /** Shows what a call has answered, without waiting for the next read. */
    show: (help: GuestHelp) => setState({ is: 'known', help, isOver: false }),
    retry: () => {
      setState({ is: 'opening' })
      setAttempt(attempt + 1)
    },
  }
}

type Show = (next: (before: GuestState) => GuestState) => void

async function followHelp(setState: Show, signal: AbortSignal): Promise<void> {
  const show = (next: (before: GuestState) => GuestState) => !signal.aborted && setState(next)
  const token = takeToken()
  try {
    if (token !== null) await spendLink(token)
  } catch (error) {
    show(() => ({ is: 'refused', error }))
    return
  }
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const help = await helpGuest.get({ wait: isFirst ? 0 : waitSeconds, signal })
      show(() => ({ is: 'known', help, isOver: false }))
      if (isEnd(help)) return
    } catch (error) {
      if (signal.aborted) return
      if (isOver(error)) {
        show((before) =>
          before.is === 'known' ? { ...before, isOver: true } : { is: 'refused', error },
        )
        return
      }
      show((before) => (before.is === 'opening' ? { is: 'refused', error } : before))
      if (isFirst) return
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }
}

/** Nothing follows this state. */
export function isEnd({ state }: GuestHelp): boolean {
  return state !== 'open' && state !== 'active'
}

/** The request has ended, a new link has taken the place of this one, or whoever asked has lost their access. */
function isOver(error: unknown): boolean {
  if (isUnanswered(error)) return false
  const { code } = error as ApiError
  return code === 'unauthenticated' || code === 'not_found' || code === 'permission_denied'
}
