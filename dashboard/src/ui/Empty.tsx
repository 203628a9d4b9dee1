import type { ReactNode } from 'react'
import { Code } from './Code.tsx'

/** A page without content: what it is for, how to begin, and the same by command and by program. */
export function Empty({
  title,
  children,
  action,
  cli,
  sdk,
}: {
  readonly title: string
  readonly children: ReactNode
  readonly action?: ReactNode
  readonly cli?: string | undefined
  readonly sdk?: string | undefined
}) {
  return (
    <div className="mx-auto flex max-w-2xl flex-col items-center px-2 py-12 text-center">
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="mt-1 max-w-lg wrap-anywhere text-muted">{children}</div>
      {action && <div className="mt-4">{action}</div>}
      {(cli || sdk) && (
        <div className="mt-8 w-full space-y-3 text-left">
          {cli && <Example title="On the command line" text={cli} />}
          {sdk && <Example title="From a program" text={sdk} />}
        </div>
      )}
    </div>
  )
}

function Example({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div>
      <p className="mb-1 text-xs font-medium text-muted">{title}</p>
      <Code text={text} label={title.toLowerCase()} />
    </div>
  )
}
