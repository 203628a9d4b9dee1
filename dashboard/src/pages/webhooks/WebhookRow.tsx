import type { Webhook } from '@computer/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { MachineLink } from '../machine/MachineLink.tsx'
import { SendTest } from './SendTest.tsx'
import { WebhookMenu } from './WebhookMenu.tsx'
import { WebhookState } from './WebhookState.tsx'
import { hostOf } from './webhook-words.ts'

export function WebhookRow({ webhook }: { readonly webhook: Webhook }) {
  const { id, url, types, machineId, createdAt } = webhook
  const navigate = useNavigate()
  const params = { webhookId: id }
  return (
    <Row>
      <Cell className="max-w-72">
        <bdi className="block truncate font-medium" title={url}>
          {url}
        </bdi>
        <Link
          to="/webhooks/$webhookId"
          params={params}
          aria-label={`Deliveries to ${hostOf(webhook)}`}
          className="text-[13px] text-accent-fg underline-offset-2 hover:underline"
        >
          Deliveries
        </Link>
      </Cell>
      <Cell className="max-w-56 text-muted">
        {types === null ? (
          'Everything'
        ) : (
          <bdi className="line-clamp-2 text-xs break-words" title={types.join(', ')}>
            {types.join(', ')}
          </bdi>
        )}
      </Cell>
      <Cell className="max-w-44 text-muted">
        {machineId === null ? 'All machines' : <MachineLink machineId={machineId} />}
      </Cell>
      <Cell className="max-w-52">
        <WebhookState webhook={webhook} />
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-right whitespace-nowrap">
        <SendTest
          webhook={webhook}
          size="small"
          // What the receiver answers is shown there.
          onSent={() => void navigate({ to: '/webhooks/$webhookId', params })}
        />
        <WebhookMenu webhook={webhook} />
      </Cell>
    </Row>
  )
}
