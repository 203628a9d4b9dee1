import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/**
 * The token of the link that led here, such as `/welcome#token=…`. It stands in the fragment, which no
 * browser sends to a server, and is taken out of the address at once: it must not stay in the history, in a
 * copied address or in a picture of the screen. The tab keeps it for this page alone, over a reload and the
 * way through the sign-in, until `forgetLinkToken`. A second link opened in the same tab takes its place.
 */
export function useLinkToken(): string | null {
  const hash = useLocation({ select: (location) => location.hash })
  const found = tokenOf(hash)
  const [token, setToken] = useState(() => found ?? readKept())
  if (found !== null && found !== token) setToken(found)
  useEffect(() => {
    if (found === null) return
    keep(found)
    history.replaceState(history.state, '', location.pathname + location.search)
  }, [found])
  return found ?? token
}

/** Call it when the link of this page has ended: there is nothing to come back to. */
export function forgetLinkToken(): void {
  keep(null)
}

function tokenOf(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, '')).get('token') || null
}

function readKept(): string | null {
  try {
    return sessionStorage.getItem(keptAs())
  } catch {
    return null
  }
}

function keep(token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(keptAs())
    else sessionStorage.setItem(keptAs(), token)
  } catch {
    // Without storage the link must be opened again after a reload.
  }
}

function keptAs(): string {
  return `token of ${location.pathname}`
}
