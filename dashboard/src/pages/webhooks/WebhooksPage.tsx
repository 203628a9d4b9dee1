import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useDenial, useSession } from '../../api/session.ts'
import { webhooksQuery } from '../../api/webhooks.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Plus } from '../../ui/icons.ts'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Table } from '../../ui/Table.tsx'
import { CreateWebhook } from './CreateWebhook.tsx'
import { NoAccess } from './NoAccess.tsx'
import { receiverLines } from './receiver-lines.ts'
import { WebhookRow } from './WebhookRow.tsx'

/** The addresses to which events and activity are sent. */
export function WebhooksPage() {
  const { organization } = useSession()
  const denied = useDenial('api_keys:manage')
  const query = useQuery({ ...webhooksQuery, enabled: denied === undefined })
  const [isCreating, setCreating] = useState(false)
  const create = (
    <Button
      look="primary"
      icon={<Plus aria-hidden />}
      disabledReason={denied}
      onClick={() => setCreating(true)}
    >
      Create a webhook
    </Button>
  )
  const isEmpty = denied !== undefined || query.data?.length === 0
  return (
    <Page
      title="Webhooks"
      description={`A webhook tells a program of yours what happens in ${organization.name}.`}
      actions={!isEmpty && create}
    >
      {denied === undefined ? (
        <QueryView query={query}>
          {(webhooks) =>
            webhooks.length === 0 ? (
              <NoWebhooks action={create} />
            ) : (
              <Table
                label="Webhooks"
                head={['Address', 'Sends', 'Machine', 'State', 'Created', '']}
              >
                {webhooks.map((webhook) => (
                  <WebhookRow key={webhook.id} webhook={webhook} />
                ))}
              </Table>
            )
          }
        </QueryView>
      ) : (
        <NoAccess action={create} />
      )}
      {isCreating && <CreateWebhook onClose={() => setCreating(false)} />}
    </Page>
  )
}

function NoWebhooks({ action }: { readonly action: ReactNode }) {
  return (
    <Empty
      title="No webhooks yet"
      action={action}
      cli={`computer webhooks create https://example.com/hook > hook.secret
# Without an address of your own:
computer webhooks listen --forward-to http://127.0.0.1:3000/hook`}
      sdk={receiverLines}
    >
      Machine events and activity are sent to an address of yours as they happen, each in a message
      that is signed. A receiver that does not answer gets it again later.
    </Empty>
  )
}
