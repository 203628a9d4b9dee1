import type { Invitation } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invitationsQuery, revokeInvitation } from '../../api/invitations.ts'
import { useDenial } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { roleWords } from './roles.ts'

/** Invitations that can still be accepted. */
export function PendingInvitations() {
  const query = useInfiniteQuery(invitationsQuery)
  return (
    <div className="mt-8">
      <h2 className="mb-2 text-base font-semibold">Pending invitations</h2>
      <QueryView query={query}>
        {({ pages }) => {
          const invitations = pages.flatMap(({ data }) => data)
          if (invitations.length === 0)
            return <p className="text-muted">Nobody is invited at the moment.</p>
          return (
            <Table
              label="Pending invitations"
              head={['Email', 'Role', 'Invited by', 'Sent', 'Ends', '']}
            >
              {invitations.map((invitation) => (
                <InvitationRow key={invitation.id} invitation={invitation} />
              ))}
            </Table>
          )
        }}
      </QueryView>
      <LoadMore query={query} />
    </div>
  )
}

function InvitationRow({ invitation }: { readonly invitation: Invitation }) {
  const { id, email, role, invitedBy, createdAt, expiresAt } = invitation
  const denied = useDenial('members:manage')
  const [isRevoking, setRevoking] = useState(false)
  return (
    <Row>
      <Cell className="max-w-64">
        <bdi className="block truncate font-medium" title={email}>
          {email}
        </bdi>
      </Cell>
      <Cell>{roleWords[role]}</Cell>
      <Cell className="max-w-48">
        <bdi className="block truncate text-muted" title={invitedBy.name}>
          {invitedBy.name}
        </bdi>
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-muted">
        <Time iso={expiresAt} />
      </Cell>
      <Cell className="text-right">
        <Button
          size="small"
          aria-label={`Revoke the invitation of ${email}`}
          disabledReason={denied}
          onClick={() => setRevoking(true)}
        >
          Revoke
        </Button>
        <Confirm
          open={isRevoking}
          onOpenChange={setRevoking}
          title="Revoke the invitation"
          action="Revoke"
          onConfirm={() => revokeInvitation(id)}
        >
          <p>
            The link that <bdi className="break-all">{email}</bdi> has stops working. You can invite
            them again.
          </p>
        </Confirm>
      </Cell>
    </Row>
  )
}
