import type { OrganizationId, WebhookId } from '@computer/contract'
import type { App } from '../app.ts'
import { WebhookAddresses } from '../domain/webhooks/addresses.ts'
import { claimDeliveries, recordAttempt, type DueDelivery } from '../domain/webhooks/deliveries.ts'
import { fanOut } from '../domain/webhooks/fan-out.ts'
import { sendMessage, type Attempt } from '../domain/webhooks/send.ts'
import { signedHeaders } from '../domain/webhooks/signature.ts'
import { readKeyring } from '../domain/secrets/keyring-file.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'

type Sending = Pick<App, 'config' | 'db' | 'changes' | 'log'>

/** Finds what a lost notification has told of. */
const pollMs = 1_000
const mostInFlight = 32
/** A receiver that hangs keeps no others waiting. */
const mostPerWebhook = 4

/** Makes the deliveries of new events and activity, and sends what is due, until the signal is aborted. */
export async function deliverWebhooks(app: Sending, signal: AbortSignal): Promise<void> {
  await Promise.all([keepFanningOut(app, signal), new Sender(app, signal).run()])
}

async function keepFanningOut(app: Sending, signal: AbortSignal): Promise<void> {
  let organizations = new Set<OrganizationId>()
  let woken = Promise.withResolvers<void>()
  const wake = (id: string) => {
    organizations.add(id as OrganizationId)
    woken.resolve()
  }
  const unsubscribes = (['events', 'activity'] as const).map((topic) =>
    app.changes.subscribe(wake, topic),
  )
  const fanOutAll = async (of: OrganizationId | null) => {
    for (let more = true; more && !signal.aborted;) {
      const result = await fanOut(app, of)
      if (result.made > 0) app.changes.publish(of ?? 'all', 'deliveries')
      more = result.more
    }
  }
  try {
    while (!signal.aborted) {
      const named = organizations
      organizations = new Set()
      woken = Promise.withResolvers()
      for (const id of named) await logFailure(app, () => fanOutAll(id))
      if (named.size === 0) await logFailure(app, () => fanOutAll(null))
      await Promise.race([woken.promise, pause(pollMs, signal)])
    }
  } finally {
    for (const unsubscribe of unsubscribes) unsubscribe()
  }
}

class Sender {
  readonly #app: Sending
  readonly #signal: AbortSignal
  readonly #addresses: WebhookAddresses
  readonly #inFlight = new Map<WebhookId, number>()
  #total = 0
  #woken = Promise.withResolvers<void>()

  constructor(app: Sending, signal: AbortSignal) {
    this.#app = app
    this.#signal = signal
    this.#addresses = new WebhookAddresses(app.config.webhookNetworks)
  }

  async run(): Promise<void> {
    const unsubscribe = this.#app.changes.subscribe(() => this.#woken.resolve(), 'deliveries')
    try {
      while (!this.#signal.aborted) {
        this.#woken = Promise.withResolvers()
        let claimed = 0
        await logFailure(this.#app, async () => {
          claimed = await this.#claim()
        })
        if (claimed === 0) await Promise.race([this.#woken.promise, pause(pollMs, this.#signal)])
      }
    } finally {
      unsubscribe()
    }
  }

  /** Starts what is due and has room, and resolves to how many that are. */
  async #claim(): Promise<number> {
    const limit = Math.min(mostInFlight - this.#total, mostPerWebhook)
    if (limit <= 0) return 0
    const busy = [...this.#inFlight].filter(([, count]) => count >= mostPerWebhook)
    const due = await claimDeliveries(this.#app.db, { limit, busy: busy.map(([id]) => id) })
    for (const delivery of due) void this.#deliver(delivery)
    return due.length
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { webhook_id: id } = delivery
    this.#count(id, 1)
    await logFailure(this.#app, async () => {
      await recordAttempt(this.#app, delivery, await this.#send(delivery))
    })
    this.#count(id, -1)
    this.#woken.resolve()
  }

  async #send({ webhook, message_id: id, payload }: DueDelivery): Promise<Attempt> {
    const keyring = await readKeyring(this.#app.config.keyringPath)
    if (!keyring) return { error: 'this server has lost its keyring' }
    const headers = signedHeaders(keyring, webhook, { id, payload }, new Date())
    return sendMessage(this.#addresses, new URL(webhook.url), headers, payload)
  }

  #count(id: WebhookId, change: 1 | -1): void {
    const now = (this.#inFlight.get(id) ?? 0) + change
    if (now === 0) this.#inFlight.delete(id)
    else this.#inFlight.set(id, now)
    this.#total += change
  }
}
