import type { Client } from './client.ts'
import { ApiError, type LeaseHolder } from './errors.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import { waitFor, withTimeLimit } from './waiting.ts'
import type { InputLease } from './wire/records.ts'

/*
 * The calls of the input lease of one machine.
 */

const path = '/v1/machines/{machine_id}/input-lease'

export type LeaseRequest = { readonly force: boolean; readonly ttlSeconds: number }

export type AcquireOptions = CallOptions & {
  /** Take the lease from its current holder. */
  readonly force?: boolean | undefined
  /** Lifetime of the lease unless renewed, 5 to 3600. Default: 20. */
  readonly ttlSeconds?: number | undefined
}

export type LeaseGrant = {
  readonly lease: InputLease
  readonly sessionId: string
  readonly ttlSeconds: number
  /** By the local clock; never later than the server's expiry. */
  readonly expiresAt: number
}

/** Acquires or renews the lease. */
export async function requestLease(
  { transport }: Client,
  machineId: string,
  sessionId: string,
  request: LeaseRequest,
  signal?: AbortSignal,
): Promise<LeaseGrant> {
  const requestedAt = Date.now()
  const lease = await transport.call(
    `POST ${path}`,
    { params: { machineId }, body: { ...request, sessionId } },
    { signal, isRepeatable: true },
  )
  const { ttlSeconds } = request
  return { lease, sessionId, ttlSeconds, expiresAt: requestedAt + ttlSeconds * 1000 }
}

/** Releases the lease, unless it is lost or the machine is deleted. */
export async function releaseLease(
  { transport }: Client,
  machineId: string,
  sessionId: string,
  options: CallOptions = {},
): Promise<void> {
  try {
    const input = { params: { machineId }, query: { sessionId } }
    await transport.call(`DELETE ${path}`, input, options)
  } catch (error) {
    if (!isCode(error, 'conflict', 'not_found')) throw error
  }
}

export async function readLease(
  { transport }: Client,
  machineId: string,
  options: CallOptions,
): Promise<InputLease> {
  return transport.call(`GET ${path}`, { params: { machineId } }, options)
}

/** Resolves once nobody has the lease but the caller's session, if it has one. */
export async function waitUntilLeaseIsFree(
  client: Client,
  machineId: string,
  ownId: () => Promise<string | undefined>,
  options: Omit<WaitOptions, 'wait'>,
): Promise<void> {
  const description = `waiting for the input lease of machine ${machineId}`
  await withTimeLimit(description, options, async (bounded) => {
    const check = async () => {
      const { holder } = await readLease(client, machineId, bounded)
      return !holder || holder.sessionId === (await ownId()) || undefined
    }
    await waitFor(client, { machineId, check }, bounded)
  })
}

export async function readHolder(
  client: Client,
  machineId: string,
  options: CallOptions,
): Promise<LeaseHolder | null> {
  const { holder, expiresAt } = await readLease(client, machineId, options)
  if (!holder) return null
  const isOwn = holder.openedBy.id === (await client.callerId())
  return { ...holder, isOwn, expiresAt: expiresAt! }
}

/**
 * The error with the holder of the lease, if it is a conflict. The server's message names the holder at
 * the time of the call, the field the one there is now.
 */
export async function withHolder(
  client: Client,
  machineId: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ApiError && error.code === 'conflict')) return error
  const holder = await readHolder(client, machineId, {}).catch(() => null)
  return new ApiError(error.code, error.message, { ...error, cause: error.cause, holder })
}

export function isCode(error: unknown, ...codes: ApiError['code'][]): boolean {
  return error instanceof ApiError && codes.includes(error.code)
}
