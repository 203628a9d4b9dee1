import type { Client } from './client.ts'
import type { CallOptions } from './options.ts'
import { Reconnection } from './reconnection.ts'
import type { Body } from './transport.ts'
import type { HelpBrief, HelpPerson, HelpRequest } from './wire/records.ts'
import { helpWaitMaxSeconds } from './wire/tables.ts'

const one = '/v1/help-requests/{help_request_id}'

export type AskForHelpOptions = Body<'POST /v1/machines/{machine_id}/help-requests'> &
  CallOptions & {
    /**
     * Called with the request once it exists, for example to pass its takeover link on. A promise that it returns is
     * awaited; if it fails, the request is cancelled.
     */
    readonly onRequested?: ((request: HelpRequest) => void | Promise<void>) | undefined
  }

/** How a help request ended. */
export type HelpResult = {
  /** Only `done` and `declined` are answers of a person. */
  readonly outcome: 'done' | 'declined' | 'cancelled' | 'expired'
  readonly text: string | null
  readonly choice: string | null
  /** The person who answered. */
  readonly by: HelpPerson | null
  /** The changes on the machine, if a person had it and answered. */
  readonly brief: HelpBrief | null
  readonly request: HelpRequest
}

/**
 * Asks a person for help on a machine and waits for the end of the request, with the input lease handed over. The request
 * is cancelled if this fails, because nobody should work for a program that does not wait any more.
 */
export async function askForHelp(
  client: Client,
  machineId: string,
  { signal, onRequested, ...body }: AskForHelpOptions,
): Promise<HelpResult> {
  signal?.throwIfAborted()
  const { transport } = client
  const input = client.input(machineId)
  const ending = AbortSignal.any(signal ? [signal, client.ending] : [client.ending])
  const request = await transport.call(
    'POST /v1/machines/{machine_id}/help-requests',
    { params: { machineId }, body, creates: true },
    // Without the signal: an aborted call could leave a request of which nobody knows the id.
    {},
  )
  try {
    ending.throwIfAborted()
    await input.handOver()
    await onRequested?.(request)
    const result = await followHelp(client, request, { signal: ending })
    if (result.by) input.takeBack()
    return result
  } catch (error) {
    const params = { helpRequestId: request.id }
    await transport.call(`POST ${one}/cancel`, { params }, { isRepeatable: true }).catch(() => {})
    throw error
  }
}

/** Follows a request to its end, through lost connections for as long as the request may last. */
export async function followHelp(
  { transport }: Client,
  request: HelpRequest,
  { signal }: CallOptions,
): Promise<HelpResult> {
  const lifetimeMs = Date.parse(request.expiresAt) - Date.parse(request.createdAt)
  const reconnection = new Reconnection(signal, lifetimeMs)
  const input = { params: { helpRequestId: request.id }, query: { wait: helpWaitMaxSeconds } }
  const read = () => transport.call(`GET ${one}`, input, { signal })
  for (let known: HelpRequest | undefined = request; ;) {
    const result: HelpResult | undefined = known && resultOf(known)
    if (result) return result
    known = await reconnection.attempt(read)
    if (known) reconnection.succeeded()
    else await reconnection.pause()
  }
}

/** Undefined while it has not ended. */
function resultOf(request: HelpRequest): HelpResult | undefined {
  const { state, answer, brief } = request
  if (state === 'open' || state === 'active') return undefined
  const { text = null, choice = null, by = null } = answer ?? {}
  return { outcome: state, text, choice, by, brief, request }
}
