import { useId, type ReactNode } from 'react'

/** A part of a page of settings: what it is about, and beside it what can be set. */
export function Section({
  title,
  note,
  children,
}: {
  readonly title: string
  readonly note?: ReactNode
  readonly children: ReactNode
}) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className="border-b border-line py-5 first:pt-0 last:border-0 sm:grid sm:grid-cols-[12rem_1fr] sm:gap-6"
    >
      <div className="mb-2">
        <h2 id={id} className="font-medium">
          {title}
        </h2>
        {note && <p className="text-[13px] text-muted">{note}</p>}
      </div>
      <div className="min-w-0">{children}</div>
    </section>
  )
}
