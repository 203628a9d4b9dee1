import type { Webhook } from '@computer/sdk'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useDenial } from '../../../api/session.ts'
import { deliveriesQuery, webhookQuery, type DeliveryState } from '../../../api/webhooks.ts'
import { cx } from '../../../ui/cx.ts'
import { LoadMore } from '../../../ui/LoadMore.tsx'
import { Page } from '../../../ui/Page.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Select } from '../../../ui/Select.tsx'
import { Table } from '../../../ui/Table.tsx'
import { NoAccess } from '../NoAccess.tsx'
import { DeliveryRow } from './DeliveryRow.tsx'
import { DeliveriesHeader } from './DeliveriesHeader.tsx'
import { deliveryStates, deliveryWords } from './delivery-words.ts'

/** What was sent to one webhook, and what its receiver answered. The filter is in the address. */
export function DeliveriesPage() {
  const { webhookId } = useParams({ from: '/app/webhooks/$webhookId' })
  const denied = useDenial('api_keys:manage')
  return (
    <Page
      title="Deliveries"
      description={
        <>
          What one of the{' '}
          <Link to="/webhooks" className="text-accent-fg underline">
            webhooks
          </Link>{' '}
          has sent in the last 30 days, newest first.
        </>
      }
    >
      {denied === undefined ? <OfWebhook key={webhookId} webhookId={webhookId} /> : <NoAccess />}
    </Page>
  )
}

function OfWebhook({ webhookId }: { readonly webhookId: string }) {
  const query = useQuery(webhookQuery(webhookId))
  return (
    <QueryView query={query}>
      {(webhook) => (
        <>
          <DeliveriesHeader webhook={webhook} />
          <Deliveries webhook={webhook} />
        </>
      )}
    </QueryView>
  )
}

function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const search = useSearch({ from: '/app/webhooks/$webhookId' })
  const state = deliveryStates.find((known) => known === search.state)
  const query = useInfiniteQuery({
    ...deliveriesQuery(webhook.id, state),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <StateFilter state={state} />
      <QueryView query={query}>
        {({ pages }) => {
          const deliveries = pages.flatMap(({ data }) => data)
          return (
            <div className={cx(query.isPlaceholderData && 'opacity-60')}>
              {deliveries.length === 0 ? (
                <p role="status" className="py-12 text-center text-muted">
                  {state === undefined
                    ? 'Nothing has been sent in the last 30 days.'
                    : `No delivery is ${deliveryWords[state].toLowerCase()}.`}
                </p>
              ) : (
                <Table
                  label="Deliveries"
                  head={['Time', 'Type', 'State', 'Attempts', 'Last answer', 'Next attempt', '']}
                >
                  {deliveries.map((delivery) => (
                    <DeliveryRow key={delivery.id} delivery={delivery} webhook={webhook} />
                  ))}
                </Table>
              )}
            </div>
          )
        }}
      </QueryView>
      <LoadMore query={query} label="Load older" />
    </>
  )
}

function StateFilter({ state }: { readonly state: DeliveryState | undefined }) {
  const navigate = useNavigate({ from: '/webhooks/$webhookId' })
  return (
    <Select<DeliveryState | 'all'>
      label="State"
      hideLabel
      value={state ?? 'all'}
      choices={[
        { value: 'all', label: 'Every state' },
        ...deliveryStates.map((value) => ({ value, label: deliveryWords[value] })),
      ]}
      onChange={(value) =>
        void navigate({ search: value === 'all' ? {} : { state: value }, replace: true })
      }
      className="mb-4 w-44"
    />
  )
}
