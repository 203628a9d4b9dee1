import { ApiError } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { invitationLookupQuery } from '../../api/invitations.ts'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { EndedInvitation } from './EndedInvitation.tsx'
import { InvitationFor } from './InvitationFor.tsx'
import { JoinAsNewPerson } from './JoinAsNewPerson.tsx'
import { JoinAsUser, WrongAccount } from './JoinAsUser.tsx'
import { useLinkToken } from './link-token.ts'
import { LinkView } from './LinkView.tsx'
import { SignInLayout } from './SignInLayout.tsx'

/** An invitation, for the person whom it is for: signed in, signed out or signed in as somebody else. */
export function AcceptInvitationPage() {
  const token = useLinkToken()
  if (token !== null) return <Invitation key={token} token={token} />
  return (
    <SignInLayout title="This link does not work">
      <p>
        This address has no token. Open the link of the invitation again, in full, or ask the person
        who invited you for a new one.
      </p>
    </SignInLayout>
  )
}

function Invitation({ token }: { readonly token: string }) {
  const query = useQuery(invitationLookupQuery(token))
  const { error } = query
  if (error instanceof ApiError && error.code === 'not_found')
    return (
      <SignInLayout title="This link does not work">
        <ErrorNotice error={error}>
          <p>The person who invited you can send a new link.</p>
        </ErrorNotice>
      </SignInLayout>
    )
  return (
    <LinkView title="Invitation" query={query}>
      {(invitation, user) => {
        if (invitation.state !== 'pending')
          return <EndedInvitation invitation={invitation} user={user} />
        const isTheirs = user?.email.toLowerCase() === invitation.email.toLowerCase()
        return (
          <InvitationFor invitation={invitation}>
            {!user && <JoinAsNewPerson token={token} invitation={invitation} />}
            {user && isTheirs && <JoinAsUser token={token} invitation={invitation} user={user} />}
            {user && !isTheirs && <WrongAccount invitation={invitation} user={user} />}
          </InvitationFor>
        )
      }}
    </LinkView>
  )
}
