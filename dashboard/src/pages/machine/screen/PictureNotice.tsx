import type { ReactNode } from 'react'
import { formatDuration } from '../../../format.ts'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { Delayed } from '../../../ui/Loading.tsx'
import type { ScreenState } from './live-screen.ts'
import { useSeconds } from './use-seconds.ts'

/** Over the screen, while it is not live: why, and how old the picture is. */
export function PictureNotice({
  state: { picture, refusal },
  name,
  privateTo,
  children,
}: {
  readonly state: Pick<ScreenState, 'picture' | 'refusal'>
  readonly name: string
  /** The name of the person who has the screen while it is private, if it is known. */
  readonly privateTo?: string | undefined
  /** The next step after a refusal. */
  readonly children?: ReactNode
}) {
  if (refusal !== undefined)
    return (
      <Notice>
        <ErrorNotice error={refusal} title="The screen is not shown any more.">
          {children}
        </ErrorNotice>
      </Notice>
    )
  if (picture.is === 'live') return null
  if (picture.is === 'private')
    return (
      <Notice>
        <div className="rounded-lg border border-line bg-raised px-4 py-3 text-center shadow-pop">
          <p role="status" className="font-medium">
            The screen is private to <bdi>{privateTo ?? 'another person'}</bdi> now.
          </p>
          <p className="text-muted">
            Nobody else can see it until they hand the machine back. Then it comes back by itself.
          </p>
        </div>
      </Notice>
    )
  if (picture.is === 'old')
    return (
      <Notice>
        <div className="rounded-lg border border-line bg-raised px-4 py-3 text-center shadow-pop">
          <p role="status" className="font-medium">
            The connection is lost. It is tried again.
          </p>
          <p className="text-muted">
            This picture is <Old since={picture.since} /> old.
          </p>
        </div>
      </Notice>
    )
  return (
    <Notice>
      <Delayed>
        <p role="status" className="text-muted">
          {picture.isConnected
            ? `The desktop of ${name} is starting. This goes on by itself.`
            : picture.hasFailed
              ? 'The screen cannot be reached. It is tried again.'
              : 'Connecting to the screen'}
        </p>
      </Delayed>
    </Notice>
  )
}

function Notice({ children }: { readonly children: ReactNode }) {
  return (
    <div className="pointer-events-none absolute inset-0 flex items-center justify-center p-4">
      <div className="pointer-events-auto max-w-md">{children}</div>
    </div>
  )
}

function Old({ since }: { readonly since: number }) {
  const now = useSeconds()
  return <span className="tabular-nums">{formatDuration(now - since)}</span>
}
