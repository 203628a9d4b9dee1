import type { GuestHelp } from '@computer/sdk'
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { Skeleton } from '../../ui/Loading.tsx'
import { SignInLayout } from '../sign-in/SignInLayout.tsx'
import { GuestOffer } from './GuestOffer.tsx'
import { isUnanswered } from './spend-link.ts'
import { isEnd, useGuestHelp } from './use-guest-help.ts'

const GuestScreenView = lazy(async () => ({
  default: (await import('./GuestScreenView.tsx')).GuestScreenView,
}))

/** The help request of a takeover link: what is asked, then the screen, then how it ended. */
export function GuestPage() {
  const { state, show, retry } = useGuestHelp()
  /** The session that this page has lost, and to whom: the server may not know yet. */
  const [lost, setLost] = useState<{ readonly sessionId: string; readonly to: string | null }>()
  if (state.is === 'opening')
    return (
      <SignInLayout title="Help request">
        <Skeleton />
      </SignInLayout>
    )
  if (state.is === 'refused') return <Refused error={state.error} onRetry={retry} />
  const { help, isOver } = state
  if (isEnd(help)) return <Ended help={help} />
  if (isOver)
    return (
      <SignInLayout title="You have no access to this request any more">
        <p>
          It has ended, or there is a newer link. Nothing is left for you to do here. If you are
          still needed, ask for a new link.
        </p>
      </SignInLayout>
    )
  const { sessionId } = help
  if (help.isTakenByGuest && sessionId !== null && sessionId !== lost?.sessionId)
    return (
      <Suspense fallback={<Opening help={help} />}>
        <GuestScreenView
          key={sessionId}
          help={help}
          sessionId={sessionId}
          onChanged={show}
          onLost={(to) => setLost({ sessionId, to })}
        />
      </Suspense>
    )
  return <GuestOffer help={help} lost={lost} onTaken={show} />
}

function Opening({ help }: { readonly help: GuestHelp }) {
  return (
    <SignInLayout title={`Opening the screen of ${help.machine.name}`}>
      <Skeleton />
    </SignInLayout>
  )
}

function Refused({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (isUnanswered(error))
    return (
      <SignInLayout title="The help request cannot be opened now">
        <ErrorNotice error={error}>
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        </ErrorNotice>
      </SignInLayout>
    )
  return (
    <SignInLayout title="This link does not work">
      <p>
        A takeover link works once, in one browser, until its request ends. This one was used
        already, has ended, or is not complete. Ask the person who sent it for a new one.
      </p>
    </SignInLayout>
  )
}

const ends = {
  done: ['Thank you', 'The machine is handed back, and the agent goes on.'],
  declined: ['You have declined', 'The agent knows that it cannot be done.'],
  cancelled: ['This request was cancelled', 'The help is no longer needed.'],
  expired: ['This request has expired', 'The agent does not wait any more.'],
} as const satisfies Readonly<Record<string, readonly [string, string]>>

function Ended({ help: { state, organizationName } }: { readonly help: GuestHelp }) {
  if (state === 'open' || state === 'active') return null
  const [title, text] = ends[state]
  return (
    <SignInLayout title={title}>
      <p role="status">{text} You can close this page.</p>
      <From name={organizationName} />
    </SignInLayout>
  )
}

function From({ name }: { readonly name: string }): ReactNode {
  return (
    <p className="mt-3 text-[13px] text-muted">
      You were asked by <bdi>{name}</bdi>.
    </p>
  )
}
