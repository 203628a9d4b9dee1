import type { AuditEventType } from '@computer/sdk'
import { auditEventTypes } from '@computer/sdk/tables'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { auditQuery } from '../../api/audit.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { RefreshCw } from '../../ui/icons.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Select } from '../../ui/Select.tsx'
import { Table } from '../../ui/Table.tsx'
import { AuditRow } from './AuditRow.tsx'
import { auditWords } from './audit-words.ts'

/** Who signed in and who changed access, newest first. */
export function AuditPage() {
  const denied = useDenial('members:manage')
  const { organization } = useSession()
  return denied ? (
    <Page title="Audit log">
      <Empty title="You may not read the audit log">
        It is for people who may invite, change and remove members in {organization.name}. Ask one
        of its owners or admins.
      </Empty>
    </Page>
  ) : (
    <AuditLog />
  )
}

function AuditLog() {
  const { type: named } = useSearch({ from: '/app/audit' })
  const type = auditEventTypes.find((known) => known === named)
  const query = useInfiniteQuery(auditQuery(type))
  return (
    <Page
      title="Audit log"
      description="Sign-ins and changes of access, newest first, with what was refused."
      actions={
        <>
          <TypeFilter type={type} />
          <Button
            label="Refresh"
            icon={<RefreshCw aria-hidden />}
            busy={query.isFetching && !query.isFetchingNextPage && !query.isPending}
            onClick={() => void query.refetch()}
          />
        </>
      }
    >
      <QueryView query={query}>
        {({ pages }) => {
          const events = pages.flatMap(({ data }) => data)
          if (events.length === 0)
            return <p className="py-12 text-center text-muted">No entry is of this type.</p>
          return (
            <Table
              label="Audit log"
              head={['Time', 'Type', 'Actor', 'Target', 'Address', 'Outcome']}
            >
              {events.map((event) => (
                <AuditRow key={event.id} event={event} />
              ))}
            </Table>
          )
        }}
      </QueryView>
      <LoadMore query={query} label="Load older" />
    </Page>
  )
}

function TypeFilter({ type }: { readonly type: AuditEventType | undefined }) {
  const navigate = useNavigate()
  const choices = [
    { value: 'all', label: 'All types' },
    ...auditEventTypes.map((value) => ({ value, label: auditWords[value] })),
  ] as const
  return (
    <Select<AuditEventType | 'all'>
      label="Type"
      hideLabel
      value={type ?? 'all'}
      choices={choices}
      onChange={(value) =>
        void navigate({
          to: '/audit',
          search: value === 'all' ? {} : { type: value },
          replace: true,
        })
      }
      className="w-56"
    />
  )
}
