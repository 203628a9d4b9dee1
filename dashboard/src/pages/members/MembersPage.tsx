import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { membersQuery } from '../../api/members.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Plus } from '../../ui/icons.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Table } from '../../ui/Table.tsx'
import { InvitePerson } from './InvitePerson.tsx'
import { MemberRow } from './MemberRow.tsx'
import { PendingInvitations } from './PendingInvitations.tsx'

/** Who is in the organization, with which role, and who is invited. */
export function MembersPage() {
  const { organization } = useSession()
  const query = useInfiniteQuery(membersQuery)
  const [isInviting, setInviting] = useState(false)
  const denied = useDenial('members:manage')
  return (
    <Page
      title="Members"
      description={`People who work in ${organization.name}. Each sees everything in it; the role says what they may change.`}
      actions={
        <Button
          look="primary"
          icon={<Plus aria-hidden />}
          disabledReason={denied}
          onClick={() => setInviting(true)}
        >
          Invite
        </Button>
      }
    >
      <QueryView query={query}>
        {({ pages }) => (
          <Table label="Members" head={['Name', 'Email', 'Role', 'Since', '']}>
            {pages
              .flatMap(({ data }) => data)
              .map((member) => (
                <MemberRow key={member.id} member={member} />
              ))}
          </Table>
        )}
      </QueryView>
      <LoadMore query={query} />
      <PendingInvitations />
      {isInviting && <InvitePerson onClose={() => setInviting(false)} />}
    </Page>
  )
}
