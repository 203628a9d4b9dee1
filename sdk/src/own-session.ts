import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import { fill, type Transport } from './transport.ts'
import type { Session } from './wire/records.ts'

const path = '/v1/sessions/{session_id}'

/** A session that a call of this client has opened, and that the SDK therefore closes. */
export class OwnSession {
  /** The session once the server has opened it. */
  readonly opened: Promise<Session>
  readonly #transport: Transport
  readonly #onEnded: () => void
  #id: string | undefined
  #closing: Promise<void> | undefined

  /** `onEnded` runs once it is closed or has turned out not to exist. */
  constructor(transport: Transport, opened: Promise<Session>, onEnded: () => void) {
    this.#transport = transport
    this.#onEnded = onEnded
    this.opened = opened
    this.opened.then(({ id }) => (this.#id = id), onEnded)
  }

  /** Closes it, after it was opened. A session that no longer exists counts as closed. */
  async close(options: CallOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options).finally(this.#onEnded)
    return this.#closing
  }

  /** Forgets it without a call, because it ended with its machine. */
  abandon(): void {
    this.#onEnded()
  }

  /**
   * The DELETE request that closes it. Undefined while it is being opened, and if the program sends
   * requests in a way of its own.
   */
  get closingRequest(): ClosingRequest | undefined {
    const { baseUrl, apiKey, hasOwnFetch } = this.#transport.configuration
    if (this.#id === undefined || apiKey === undefined || hasOwnFetch) return undefined
    const url = baseUrl + fill(path, { sessionId: this.#id })
    return { url, headers: { authorization: `Bearer ${apiKey}` } }
  }

  async #close(options: CallOptions): Promise<void> {
    const session = await this.opened.catch(() => undefined)
    if (session) await closeSession(this.#transport, session.id, options)
  }
}

export type ClosingRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Closes a session of this caller, unless it is gone. */
export async function closeSession(
  transport: Transport,
  sessionId: string,
  options: CallOptions,
): Promise<void> {
  try {
    await transport.call(`DELETE ${path}`, { params: { sessionId } }, options)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error
  }
}
