import { useInfiniteQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { apiKeysQuery } from '../../api/api-keys.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Plus } from '../../ui/icons.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Table } from '../../ui/Table.tsx'
import { CreateKey } from './CreateKey.tsx'
import { KeyRow } from './KeyRow.tsx'

/** The keys with which programs act in the organization. */
export function KeysPage() {
  const { organization } = useSession()
  const query = useInfiniteQuery(apiKeysQuery)
  const [isCreating, setCreating] = useState(false)
  const denied = useDenial('api_keys:manage')
  const create = (
    <Button
      look="primary"
      icon={<Plus aria-hidden />}
      disabledReason={denied}
      onClick={() => setCreating(true)}
    >
      Create a key
    </Button>
  )
  const isEmpty = query.data?.pages[0]?.data.length === 0
  return (
    <Page
      title="API keys"
      description={`With a key, a program acts in ${organization.name}. Any key can read everything in it.`}
      actions={!isEmpty && create}
    >
      <QueryView query={query}>
        {({ pages }) =>
          isEmpty ? (
            <NoKeys action={create} />
          ) : (
            <Table
              label="API keys"
              head={['Name', 'Scopes', 'Created by', 'Created', 'Last used', 'Ends', '']}
            >
              {pages
                .flatMap(({ data }) => data)
                .map((key) => (
                  <KeyRow key={key.id} apiKey={key} />
                ))}
            </Table>
          )
        }
      </QueryView>
      <LoadMore query={query} />
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
    </Page>
  )
}

function NoKeys({ action }: { readonly action: ReactNode }) {
  return (
    <Empty
      title="No API keys yet"
      action={action}
      cli={`export COMPUTER_API_KEY=$(computer keys create laptop)
computer machines list`}
      sdk={`import { Computer } from '@computer/sdk'

const computer = new Computer({ apiKey: process.env.COMPUTER_API_KEY })`}
    >
      A program, an agent or the command line proves with a key who it is. A key may never do more
      than the person who made it.
    </Empty>
  )
}
