import { useEffect, useState } from 'react'
import { formatDateTime, formatDuration, formatRelative } from '../format.ts'

/** A moment relative to now, with its date on hover. */
export function Time({ iso }: { readonly iso: string }) {
  const now = useNow()
  return (
    <time dateTime={iso} title={formatDateTime(iso)} className="whitespace-nowrap">
      {formatRelative(iso, now)}
    </time>
  )
}

/** A moment as its date and time, where people plan with it. */
export function Moment({ iso }: { readonly iso: string }) {
  return <time dateTime={iso}>{formatDateTime(iso)}</time>
}

/** How long ago, such as "3 h 20 min". */
export function Age({ since }: { readonly since: string }) {
  const now = useNow()
  return (
    <time dateTime={since} title={formatDateTime(since)} className="whitespace-nowrap">
      {formatDuration(now - Date.parse(since))}
    </time>
  )
}

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** The time, renewed for all texts of the page at once. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const tell = () => setNow(Date.now())
    listeners.add(tell)
    timer ??= setInterval(() => {
      for (const listener of listeners) listener()
    }, 15_000)
    return () => {
      listeners.delete(tell)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now
}
