import type { Client } from './client.ts'
import { followHelp, type HelpResult } from './help.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query } from './transport.ts'
import { withTimeLimit } from './waiting.ts'
import type { HelpRequest, HelpTaken } from './wire/records.ts'
import { helpLeaseSeconds } from './wire/tables.ts'

const one = '/v1/help-requests/{help_request_id}'

export type HelpFilter = Query<'GET /v1/help-requests'>

/** Requests in which agents ask people for help, as those who answer them see them. */
export class HelpRequests {
  readonly #client: Client
  /** By the id of a request that this client has taken: forgets its session, which has ended on the server. */
  readonly #forgetting = new Map<string, () => void>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Newest first: all, or those in one or several states. */
  list({ signal, ...query }: HelpFilter & CallOptions = {}): List<HelpRequest> {
    return this.#client.transport.list('GET /v1/help-requests', { query }, { signal })
  }

  /**
   * Reads a request. With `wait`, in seconds up to 60, resolves once its state changes, at once if it has ended, and
   * after that time at the latest.
   */
  async get(
    helpRequestId: string,
    { signal, ...query }: Query<`GET ${typeof one}`> & CallOptions = {},
  ): Promise<HelpRequest> {
    const input = { params: { helpRequestId }, query }
    return this.#client.transport.call(`GET ${one}`, input, { signal })
  }

  /**
   * Resolves once the request has ended. Goes on through lost connections and restarts of the server, so a program
   * that was started anew can wait here for what it had asked before. Without `timeoutMs` it waits as long as the request
   * may last.
   */
  async waitForEnd(
    helpRequestId: string,
    { timeoutMs = Infinity, signal }: Omit<WaitOptions, 'wait'> = {},
  ): Promise<HelpResult> {
    const description = `waiting for help request ${helpRequestId}`
    return withTimeLimit(description, { signal, timeoutMs }, async (bounded) => {
      const options = { signal: bounded.signal }
      return followHelp(this.#client, await this.get(helpRequestId, options), options)
    })
  }

  /**
   * Takes a request: a session of type human gets the input lease, from whoever holds it. That session becomes the
   * one of `machine.input`, which renews the lease; if it is closed, the request is open again. Throws `conflict` if
   * somebody else has taken the request.
   */
  async take(helpRequestId: string, { signal }: CallOptions = {}): Promise<HelpTaken> {
    const requestedAt = Date.now()
    const input = { params: { helpRequestId } }
    const taken = await this.#client.transport.call(`POST ${one}/take`, input, { signal })
    const { session, lease } = taken
    const ttlSeconds = helpLeaseSeconds
    const expiresAt = requestedAt + ttlSeconds * 1000
    const grant = { lease, sessionId: session.id, ttlSeconds, expiresAt }
    const own = this.#client.adoptSession(session)
    const forget = this.#client.input(session.machineId).adopt(own, grant)
    this.#forgetting.set(helpRequestId, forget)
    return taken
  }

  /** Leaves a request that this client has taken, without an answer: it is open again. */
  async release(helpRequestId: string, options: CallOptions = {}): Promise<HelpRequest> {
    const input = { params: { helpRequestId } }
    const released = await this.#client.transport.call(`POST ${one}/release`, input, options)
    this.#forget(helpRequestId)
    return released
  }

  /** Answers a request that the caller has taken, or that nobody has. Hands the machine back. */
  async answer(
    helpRequestId: string,
    body: Body<`POST ${typeof one}/answer`>,
    options: CallOptions = {},
  ): Promise<HelpRequest> {
    const input = { params: { helpRequestId }, body }
    const answered = await this.#client.transport.call(`POST ${one}/answer`, input, options)
    this.#forget(helpRequestId)
    return answered
  }

  /** Cancels a request that has not ended. Ends the session of the person who has it. */
  async cancel(helpRequestId: string, options: CallOptions = {}): Promise<HelpRequest> {
    const input = { params: { helpRequestId } }
    const cancelled = await this.#client.transport.call(`POST ${one}/cancel`, input, options)
    this.#forget(helpRequestId)
    return cancelled
  }

  /**
   * Makes a new takeover link, which somebody without an account can open once. Earlier links, and the guests who
   * came by them, lose their access.
   */
  async createLink(
    helpRequestId: string,
    options: CallOptions = {},
  ): Promise<{ takeoverUrl: string; expiresAt: string }> {
    const input = { params: { helpRequestId } }
    return this.#client.transport.call(`POST ${one}/link`, input, options)
  }

  /** The screen before or after a person had it, as a WebP image. The brief tells which pictures there are. */
  async picture(
    helpRequestId: string,
    of: 'before' | 'after',
    options: CallOptions = {},
  ): Promise<Uint8Array<ArrayBuffer>> {
    return this.#client.transport.bytes(
      `GET ${one}/picture`,
      { params: { helpRequestId }, query: { of } },
      'image/webp',
      async (response) => new Uint8Array(await response.arrayBuffer()),
      options,
    )
  }

  #forget(helpRequestId: string): void {
    this.#forgetting.get(helpRequestId)?.()
    this.#forgetting.delete(helpRequestId)
  }
}

/** The help requests of one machine, as its agent sees them. `machine.askForHelp` also waits for the answer. */
export class MachineHelpRequests {
  readonly #client: Client
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#machineId = machineId
  }

  /**
   * Asks a person for help, and does not wait. The result has the takeover link, this once. Throws `conflict` if five
   * requests of the machine have not ended.
   */
  async create(
    body: Body<'POST /v1/machines/{machine_id}/help-requests'>,
    options: CallOptions = {},
  ): Promise<HelpRequest> {
    return this.#client.transport.call(
      'POST /v1/machines/{machine_id}/help-requests',
      { params: { machineId: this.#machineId }, body, creates: true },
      options,
    )
  }

  /** Newest first: all, or those in one or several states. */
  list({ signal, ...query }: Omit<HelpFilter, 'machineId'> & CallOptions = {}): List<HelpRequest> {
    const input = { query: { ...query, machineId: this.#machineId } }
    return this.#client.transport.list('GET /v1/help-requests', input, { signal })
  }
}
