import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import { Button } from '../ui/Button.tsx'
import { ErrorNotice } from '../ui/ErrorNotice.tsx'

/** A part of the page that failed; the rest stays usable. */
export function Crash({ error, reset }: ErrorComponentProps) {
  return (
    <div className="mx-auto max-w-2xl p-6">
      <ErrorNotice error={error} title="This part of the page failed.">
        <Button size="small" onClick={reset}>
          Try again
        </Button>
      </ErrorNotice>
    </div>
  )
}

export function NotFound() {
  return (
    <main className="mx-auto max-w-2xl p-6">
      <h1 className="text-lg font-semibold">There is no such page.</h1>
      <Link to="/" className="text-accent-fg underline">
        Go to the machines
      </Link>
    </main>
  )
}
