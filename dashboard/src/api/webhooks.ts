import type { Webhook, WebhookDelivery } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

/** No event tells how deliveries end. */
const refreshMs = 10_000
/** While a message is about to be sent, or waits for an answer. */
const movingMs = 2_000
/** A delivery whose next attempt is nearer than this is moving. */
const soonMs = 60_000
const pageSize = 50

export type DeliveryState = WebhookDelivery['state']

/** All webhooks of the organization, newest first: the server allows no more than a page of the API holds. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'] as const,
  queryFn: ({ signal }): Promise<Webhook[]> => computer.webhooks.list({ limit: 100, signal }).all(),
  refetchInterval: refreshMs,
})

/** A webhook. It is read again with its deliveries, from which its state follows. */
export function webhookQuery(webhookId: string) {
  return queryOptions({
    queryKey: ['webhook', webhookId, 'record'] as const,
    queryFn: ({ signal }) => computer.webhooks.get(webhookId, { signal }),
  })
}

/**
 * The deliveries of a webhook, newest first: all, or those in one state. A refresh reads every loaded page
 * anew, each from where the one before it ends, so none is missed or shown twice.
 */
export function deliveriesQuery(webhookId: string, state: DeliveryState | undefined) {
  return infiniteQueryOptions({
    queryKey: ['webhook', webhookId, 'deliveries', state ?? 'all'] as const,
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = { state, limit: pageSize, cursor, signal }
      const page = await computer.webhooks.deliveries(webhookId, query)
      if (cursor === undefined) void queryClient.invalidateQueries(webhookQuery(webhookId))
      return page
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state: { data } }) => {
      // A person who has loaded older pages looks at the past.
      const [newest, ...older] = data?.pages ?? []
      return older.length === 0 && newest?.data.some(isNear) ? movingMs : refreshMs
    },
    // The list is read to see what has just happened.
    staleTime: 0,
  })
}

function isNear({ state, nextAttemptAt }: WebhookDelivery): boolean {
  return state === 'pending' && Date.parse(nextAttemptAt ?? '') - Date.now() < soonMs
}

export type NewWebhook = {
  readonly url: string
  /** Null: everything. */
  readonly types: readonly string[] | null
  readonly machineId: string | undefined
}

/** Only this result and that of a rotation have the secret. */
export async function createWebhook({ url, types, machineId }: NewWebhook): Promise<Webhook> {
  const body = { url, machineId, ...(types && { types: [...types] }) }
  const created = await computer.webhooks.create(body)
  await refreshWebhooks(created.id)
  return created
}

export type WebhookChange = {
  readonly url?: string | undefined
  readonly types?: readonly string[] | null | undefined
  readonly enabled?: boolean | undefined
}

export async function updateWebhook(
  webhookId: string,
  { types, ...change }: WebhookChange,
): Promise<void> {
  await computer.webhooks.update(webhookId, { ...change, types: types && [...types] })
  await refreshWebhooks(webhookId)
}

export async function rotateSecret(webhookId: string): Promise<Webhook> {
  const rotated = await computer.webhooks.rotate(webhookId)
  await refreshWebhooks(webhookId)
  return rotated
}

export async function deleteWebhook(webhookId: string): Promise<void> {
  await computer.webhooks.delete(webhookId)
  queryClient.removeQueries({ queryKey: ['webhook', webhookId] })
  await queryClient.invalidateQueries(webhooksQuery)
}

export async function sendTest(webhookId: string): Promise<void> {
  await computer.webhooks.test(webhookId)
  await refreshDeliveries(webhookId)
}

export async function sendAgain({
  id,
  webhookId,
}: Pick<WebhookDelivery, 'id' | 'webhookId'>): Promise<void> {
  await computer.webhooks.retry(webhookId, id)
  await refreshDeliveries(webhookId)
}

export type Replay = {
  readonly since: Date
  /** Undefined: both. */
  readonly state: 'failed' | 'delivered' | undefined
}

/** Resolves to the number of messages that are sent again. */
export async function replayDeliveries(
  webhookId: string,
  { since, state }: Replay,
): Promise<number> {
  const replayed = await computer.webhooks.replay(webhookId, { since: since.toISOString(), state })
  await refreshDeliveries(webhookId)
  return replayed
}

async function refreshWebhooks(webhookId: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(webhooksQuery),
    queryClient.invalidateQueries({ queryKey: ['webhook', webhookId] }),
  ])
}

async function refreshDeliveries(webhookId: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['webhook', webhookId] })
}
