import type { ReactNode } from 'react'
import { useTitle } from '../../ui/Page.tsx'

/** The frame of all pages for people who are not signed in: one column, at any width. */
export function SignInLayout({
  title,
  description,
  children,
  footer,
}: {
  readonly title: string
  readonly description?: ReactNode
  readonly children?: ReactNode
  /** Below the card: the ways to the other pages. */
  readonly footer?: ReactNode
}) {
  useTitle(title)
  return (
    <main className="flex min-h-full flex-col items-center px-4 py-10 sm:py-[12vh]">
      <p className="mb-6 flex items-center gap-2 text-lg font-semibold">
        <img src="/favicon.svg" alt="" className="size-7" />
        Computer
      </p>
      <div className="w-full max-w-sm rounded-xl border border-line bg-raised p-6">
        <h1 className="text-base font-semibold break-words">{title}</h1>
        {description && <div className="mt-1 break-words text-muted">{description}</div>}
        {children && <div className="mt-5">{children}</div>}
      </div>
      {footer && <div className="mt-4 max-w-sm text-center text-muted">{footer}</div>}
    </main>
  )
}

/** The classes of links in the text of these pages. */
export const linkLook = 'font-medium text-accent-fg underline underline-offset-2'
