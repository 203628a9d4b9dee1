import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type { Session } from './wire/records.ts'

/** Sessions that view or control machines. The SDK opens its own as needed. */
export class Sessions {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async open(body: Body<'POST /v1/sessions'>, options: CallOptions = {}): Promise<Session> {
    return this.#transport.call('POST /v1/sessions', { body, creates: true }, options)
  }

  /** Newest first. */
  list({ signal, ...query }: Query<'GET /v1/sessions'> & CallOptions = {}): List<Session> {
    return this.#transport.list('GET /v1/sessions', { query }, { signal })
  }

  /** Closes a session permanently and releases its input lease. */
  async close(sessionId: string, options: CallOptions = {}): Promise<Session> {
    return this.#transport.call(
      'DELETE /v1/sessions/{session_id}',
      { params: { sessionId } },
      options,
    )
  }
}
