import { useEffect, type ReactNode } from 'react'

/** A page below the sidebar: its heading, its actions and its content. */
export function Page({
  title,
  description,
  actions,
  children,
}: {
  readonly title: string
  readonly description?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useTitle(title)
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-5 sm:px-6">
      <header className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <h1 className="text-lg font-semibold">{title}</h1>
          {description && <p className="text-muted">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** Names the tab of the browser. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Computer`
  }, [title])
}
