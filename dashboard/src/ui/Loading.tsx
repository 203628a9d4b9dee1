import { useEffect, useState, type ReactNode } from 'react'
import { cx } from './cx.ts'

/** Shows nothing for a moment, so that fast answers do not flicker. The place keeps its height. */
export function Delayed({ children }: { readonly children: ReactNode }) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return <div className={cx(!isLate && 'invisible')}>{children}</div>
}

/** Grey lines where content will be. */
export function Skeleton({
  lines = 3,
  height = 'h-10',
}: {
  readonly lines?: number
  readonly height?: string
}) {
  return (
    <Delayed>
      <div role="status" aria-label="Loading" className="space-y-2">
        {Array.from({ length: lines }, (_, line) => (
          <div key={line} className={cx('animate-pulse rounded-md bg-sunken', height)} />
        ))}
      </div>
    </Delayed>
  )
}
