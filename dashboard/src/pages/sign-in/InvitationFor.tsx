import type { InvitationLookup } from '@computer/sdk'
import type { ReactNode } from 'react'
import { formatDay } from '../../format.ts'
import { describeRole, roleWords } from '../members/roles.ts'
import { EmailText } from './EmailText.tsx'
import { SignInFacts } from './SignInFacts.tsx'
import { SignInLayout } from './SignInLayout.tsx'

/** Names the organization, the role and the email of an invitation that can be accepted. */
export function InvitationFor({
  invitation: { organization, email, role, invitedBy, expiresAt },
  children,
}: {
  readonly invitation: InvitationLookup
  readonly children: ReactNode
}) {
  return (
    <SignInLayout
      title={`Join ${organization.name}`}
      description={
        <>
          <bdi>{invitedBy.name}</bdi> invites you to work in this organization.
        </>
      }
    >
      <div className="space-y-4">
        <SignInFacts
          facts={[
            {
              label: 'Organization',
              value: <bdi className="font-medium">{organization.name}</bdi>,
            },
            {
              label: 'Your role',
              value: (
                <>
                  <span className="font-medium">{roleWords[role]}</span>
                  <span className="block text-xs text-muted">{describeRole(role)}</span>
                </>
              ),
            },
            { label: 'For', value: <EmailText email={email} /> },
            { label: 'Until', value: formatDay(expiresAt) },
          ]}
        />
        {children}
      </div>
    </SignInLayout>
  )
}
