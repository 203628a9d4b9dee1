import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type { Session } from './wire/records.ts'

/** Who looks at and drives which machine. The SDK opens its own at the first need. */
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

  /** Closes one for ever; the input lease it holds is released. */
  async close(sessionId: string, options: CallOptions = {}): Promise<Session> {
    return this.#transport.call(
      'DELETE /v1/sessions/{session_id}',
      { params: { sessionId } },
      options,
    )
  }
}
