import Stripe from 'stripe'

export type SentEvent = Stripe.Event

/**
 * Notifications of the fake. They are delivered in order as soon as there is an address, unless they are held:
 * then the test delivers them, as often and in whatever order it likes, or not at all.
 */
export type Webhooks = {
  readonly events: SentEvent[]
  /** The address of the server under test. */
  listenAt(url: string): void
  hold(): void
  /** Delivers what was held, and whatever comes. */
  release(): Promise<void>
  /** Sends one, and returns the status of the answer. */
  deliver(
    event: SentEvent,
    options?: { readonly sentAt?: number; readonly body?: string },
  ): Promise<number>
  /** Resolves when everything that was to be delivered is. */
  settled(): Promise<void>
}

export function createWebhooks(options: { readonly secret: string; now(): number }) {
  const { webhooks: signer } = new Stripe('sk_test_fake')
  const events: SentEvent[] = []
  let url: string | undefined
  let isHeld = false
  let delivered = 0
  let delivering: Promise<void> = Promise.resolve()
  let count = 0

  const deliver: Webhooks['deliver'] = async (event, { sentAt, body } = {}) => {
    if (url === undefined) throw new Error('the fake has no address to send notifications to')
    const payload = JSON.stringify(event)
    const signature = signer.generateTestHeaderString({
      payload,
      secret: options.secret,
      timestamp: sentAt ?? Math.floor(Date.now() / 1000),
    })
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
      body: body ?? payload,
    })
    await answer.arrayBuffer()
    return answer.status
  }

  const deliverRest = async () => {
    while (!isHeld && url !== undefined && delivered < events.length) {
      const event = events[delivered]!
      delivered += 1
      // A server that does not answer gets it again in Stripe; tests deliver it again themselves.
      await deliver(event).catch(() => {})
    }
  }
  const pump = () => (delivering = delivering.then(deliverRest))

  const hooks: Webhooks = {
    events,
    listenAt(address) {
      url = address
    },
    hold() {
      isHeld = true
    },
    release() {
      isHeld = false
      return pump()
    },
    deliver,
    settled: () => delivering,
  }
  return {
    hooks,
    emit(type: string, object: { readonly id: string }) {
      count += 1
      events.push({
        id: `evt_fake${String(count).padStart(8, '0')}`,
        object: 'event',
        api_version: '2026-10-28.endive',
        created: options.now(),
        data: { object: structuredClone(object) },
        livemode: false,
        pending_webhooks: 1,
        request: null,
        type,
      } as unknown as SentEvent)
      void pump()
    },
  }
}
