import type { InvitationLookup } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { formatDay } from '../../format.ts'
import { EmailText } from './EmailText.tsx'
import type { User } from './LinkView.tsx'
import { forgetLinkToken } from './link-token.ts'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

/** An invitation that nobody can accept any more: why, and whom to ask for a new one. */
export function EndedInvitation({
  invitation: { organization, email, state, invitedBy, expiresAt },
  user,
}: {
  readonly invitation: InvitationLookup
  readonly user: User | null
}) {
  // This page goes on showing it; a reload has nothing to come back to.
  useEffect(forgetLinkToken, [])
  const name = <bdi className="font-medium">{organization.name}</bdi>
  const address = <EmailText email={email} />
  const wasAccepted = state === 'accepted'
  return (
    <SignInLayout
      title={wasAccepted ? 'This invitation was accepted' : 'This invitation has ended'}
      footer={
        <Link to={user ? '/' : '/login'} className={linkLook}>
          {user ? 'Go to your machines' : 'Sign in'}
        </Link>
      }
    >
      <div className="space-y-3 break-words">
        <p>
          {wasAccepted && (
            <>
              The invitation of {address} to {name} was used already.
            </>
          )}
          {state === 'revoked' && (
            <>
              The invitation of {address} to {name} was revoked.
            </>
          )}
          {state === 'expired' && (
            <>
              The invitation of {address} to {name} ended on {formatDay(expiresAt)}.
            </>
          )}
        </p>
        <p>
          {wasAccepted ? 'If it was not you, tell ' : 'Ask '}
          <bdi className="font-medium">{invitedBy.name}</bdi>, who sent it, or another owner or
          admin of {name}
          {wasAccepted ? '.' : ' for a new one.'}
        </p>
      </div>
    </SignInLayout>
  )
}
