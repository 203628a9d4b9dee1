import { useId, type ReactNode } from 'react'

/** A part of the page below a heading of its own. */
export function Part({
  title,
  aside,
  children,
}: {
  readonly title: string
  readonly aside?: ReactNode
  readonly children: ReactNode
}) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 id={id} className="font-medium">
          {title}
        </h2>
        {aside}
      </div>
      {children}
    </section>
  )
}
