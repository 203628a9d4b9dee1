import type { Client } from './client.ts'
import type { CallOptions } from './options.ts'
import { openGuestScreen, type GuestScreenOptions, type Screen } from './screen.ts'
import type { Body, Query } from './transport.ts'
import type { GuestHelp, InputLease } from './wire/records.ts'

const path = '/v1/help-guest'

/** The machine of a guest who has taken the request. */
export type GuestTaken = {
  readonly help: GuestHelp
  readonly sessionId: string
  readonly lease: InputLease
}

/**
 * The calls of a page that somebody without an account has opened by a takeover link. The link's token is spent for a
 * cookie of the browser, which opens these calls and one screen, so they work in a page alone.
 */
export class HelpGuest {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Spends the token, which is what follows `#` in the link. Works once. */
  async redeem(token: string, options: CallOptions = {}): Promise<GuestHelp> {
    return this.#client.transport.call(`POST ${path}/redeem`, { body: { token } }, options)
  }

  /** With `wait`, in seconds up to 60, resolves once the state changes, and after that time at the latest. */
  async get({
    signal,
    ...query
  }: Query<`GET ${typeof path}`> & CallOptions = {}): Promise<GuestHelp> {
    return this.#client.transport.call(`GET ${path}`, { query }, { signal })
  }

  /** Takes the machine: the guest gets a session and the input lease. */
  async take(
    body: Body<`POST ${typeof path}/take`> = {},
    options: CallOptions = {},
  ): Promise<GuestTaken> {
    return this.#client.transport.call(`POST ${path}/take`, { body }, options)
  }

  /**
   * The live screen for a guest who has taken the machine, as of `machine.screen()`. Input on it is accepted while `renew`
   * keeps the lease.
   */
  async screen(
    taken: Pick<GuestTaken, 'sessionId' | 'lease'>,
    options: GuestScreenOptions,
  ): Promise<Screen> {
    return openGuestScreen(this.#client, taken, options)
  }

  /** Renews the input lease, which lasts for a minute. */
  async renew(options: CallOptions = {}): Promise<InputLease> {
    return this.#client.transport.call(`POST ${path}/renew`, {}, options)
  }

  /** Leaves the request without an answer: it is open again. */
  async release(options: CallOptions = {}): Promise<GuestHelp> {
    return this.#client.transport.call(`POST ${path}/release`, {}, options)
  }

  /** Answers, and hands the machine back. */
  async answer(
    body: Body<`POST ${typeof path}/answer`>,
    options: CallOptions = {},
  ): Promise<GuestHelp> {
    return this.#client.transport.call(`POST ${path}/answer`, { body }, options)
  }
}
