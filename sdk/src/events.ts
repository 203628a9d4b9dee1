import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import {
  connectFeed,
  entriesOf,
  followByCursor,
  Subscription,
  type SubscribeOptions,
} from './feed.ts'
import { finalError } from './gateway.ts'
import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import { Reconnection } from './reconnection.ts'
import { pause } from './retry.ts'
import type { Query } from './transport.ts'
import type { MachineEvent } from './wire/records.ts'

/** An event of the organization. Pass its `cursor` as `after` to resume there. */
export type OrganizationEvent = MachineEvent & { readonly cursor: string }

export type EventFilter = Query<'GET /v1/machines/{machine_id}/events'>

const pollMs = 1000

/** The event log of one machine. */
export class MachineEvents {
  readonly #client: Client
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#machineId = machineId
  }

  /** Past events, newest first: all, or those of one or several types. */
  list({ signal, ...query }: EventFilter & CallOptions = {}): List<MachineEvent> {
    const params = { machineId: this.#machineId }
    return this.#client.transport.list(
      'GET /v1/machines/{machine_id}/events',
      { params, query },
      { signal },
    )
  }

  /**
   * Events from now on, or after a given event of the log. Ends when the machine is gone; its last event
   * `machine.deleted` reaches only subscriptions that are connected then.
   */
  subscribe(
    options: SubscribeOptions & { readonly afterSequence?: number | undefined } = {},
  ): Subscription<MachineEvent> {
    return new Subscription(this.#client, options, async (signal) => {
      const after = options.afterSequence ?? (await this.#lastSequence({ signal }))
      return () => this.#follow(after, { ...options, signal })
    })
  }

  async *#follow(
    after: number,
    options: SubscribeOptions,
  ): AsyncGenerator<MachineEvent, void, void> {
    const { signal, onTick } = options
    let isOver = false
    const take = (event: MachineEvent) => {
      after = event.sequence
      isOver = event.type === 'machine.deleted'
      return event
    }
    const reconnection = new Reconnection(signal)
    while (!isOver) {
      const path = `/v1/machines/${this.#machineId}/events?after_sequence=${after}`
      const hasGateway = this.#client.gateway.isUsable
      const socket = hasGateway
        ? await connectFeed(this.#client, path, reconnection, options)
        : undefined
      if (socket) {
        for await (const event of entriesOf<MachineEvent>(socket)) yield take(event)
        signal?.throwIfAborted()
        const error = finalError(await socket.closed)
        if (error?.code === 'not_found') return
        if (error) throw error
      } else {
        // Without the gateway, read the log. It has the same events, and its errors say more.
        const missed = await reconnection.attempt(() => this.#missed(after, signal))
        if (missed === 'gone') return
        if (missed) reconnection.succeeded()
        if (missed) onTick?.()
        for (const event of missed ?? []) yield take(event)
      }
      if (isOver) return
      await (hasGateway ? reconnection.pause() : pause(pollMs, signal))
    }
  }

  async #lastSequence({ signal }: CallOptions): Promise<number> {
    const { data } = await this.list({ signal, limit: 1 })
    return data[0]?.sequence ?? -1
  }

  /** Events after a given one, oldest first. A deleted machine has no log. */
  async #missed(after: number, signal?: AbortSignal): Promise<MachineEvent[] | 'gone'> {
    const missed: MachineEvent[] = []
    try {
      for await (const event of this.list({ limit: 100, signal })) {
        if (event.sequence <= after) break
        missed.unshift(event)
      }
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return 'gone'
      throw error
    }
    return missed
  }
}

/** The events of all machines of the organization. Requires WebSockets. */
export class Events {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Events from now on, or after an event of an earlier subscription. */
  subscribe(
    options: SubscribeOptions & { readonly after?: string | undefined } = {},
  ): Subscription<OrganizationEvent> {
    return followByCursor(this.#client, '/v1/events', options)
  }
}
