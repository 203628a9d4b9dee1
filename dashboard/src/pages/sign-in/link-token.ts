import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/**
 * The token of the link that led here, such as `/welcome#token=…`. It stands in the fragment, which no
 * browser sends to a server, and is taken out of the address at once: it must not stay in the history, in a
 * copied address or in a picture of the screen. A second link opened in the same tab takes its place.
 */
export function useLinkToken(): string | null {
  const hash = useLocation({ select: (location) => location.hash })
  const found = tokenOf(hash)
  const [token, setToken] = useState(found)
  if (found !== null && found !== token) setToken(found)
  useEffect(() => {
    if (found === null) return
    history.replaceState(history.state, '', location.pathname + location.search)
  }, [found])
  return found ?? token
}

function tokenOf(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, '')).get('token') || null
}
